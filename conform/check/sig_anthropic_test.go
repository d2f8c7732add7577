package check_test

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/specs"
)

func TestSignatures(t *testing.T) {
	const first = "0: u\"A.\" -> t\"Hm.\"#c2lnMDAx c:call_1:read{\"p\":\"a\"}\n"
	const rest = ` c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`
	const legal = first + `1: u"A." t"Hm."#c2lnMDAx` + rest
	testPairs(t, []checkPair{
		{"SIG-001/signature-bytes", "anthropic", first + `1: u"A." t"Hm."#c2lnMDAy` + rest, legal},
		{"SIG-001/thinking-text", "anthropic", first + `1: u"A." t"Hm!"#c2lnMDAx` + rest, legal},
		{"SIG-002/kept", "anthropic", first + `1: u"A."` + rest, legal},
		{"ORD-008/block-order", "anthropic",
			first + `1: u"A." c:call_1:read{"p":"a"} t"Hm."#c2lnMDAx r:call_1:read"x" -> a"Done."`, legal},
	})
}

// TestJoinedThinking: a text that is lost between two thinking blocks joins them, which Anthropic refuses; elsewhere
// the model only misses it. Gemini looks for a thought in its place only where it is signed.
func TestJoinedThinking(t *testing.T) {
	const call = ` c:call_1:read{"p":"a"}`
	const apart = `0: u"A." -> t"Hm."#c2lnMDAx a"First." t"So."#c2lnMDAy` + call + "\n" + `1: u"A." `
	const rest = call + ` r:call_1:read"x" -> a"Done."`
	for _, c := range []struct {
		id, provider, text string
		want               specs.Consequence
	}{
		{"ORD-013/text-unchanged", "anthropic", apart + `t"Hm."#c2lnMDAx t"So."#c2lnMDAy` + rest, specs.Refused},
		{"ORD-013/text-unchanged", "anthropic", apart + `t"Hm."#c2lnMDAx` + rest, ""},
		{"ORD-013/text-unchanged", "openai", apart + `t"Hm."#c2lnMDAx t"So."#c2lnMDAy` + rest, ""},
		{"ORD-008/block-order", "gemini", `0: u"A." -> t"Hm."` + call + "\n" + `1: u"A."` + call + ` t"Hm." r:call_1:read"x" -> a"Done."`, ""},
		{"ORD-008/block-order", "anthropic", apart + `a"First." t"Hm."#c2lnMDAx t"So."#c2lnMDAy` + rest, specs.Refused},
	} {
		ev := parseTranscript(t, c.text).evidence(c.provider)
		got := find(t, c.id).Run(check.Decode(&ev)).Findings
		if len(got) == 0 || got[0].Consequence != c.want {
			t.Errorf("%s of %s: want %q, got %+v in\n%s", c.id, c.provider, c.want, got, c.text)
		}
	}
}

// TestThinkingLeadsTheMessage: the provider reads two steps that the client keeps as one
// message as one, so that the thinking of the first step leads both.
func TestThinkingLeadsTheMessage(t *testing.T) {
	const thinking = `{"type":"thinking","thinking":"Hm.","signature":"c2lnMDAx"}`
	const later = `{"type":"thinking","thinking":"And b.","signature":"c2lnMDAy"}`
	const said = `{"type":"text","text":"I look."}`
	call := func(n string) string {
		return `{"type":"tool_use","id":"toolu_` + n + `","name":"read","input":{"n":` + n + `}}`
	}
	result := func(n string) string { return `{"type":"tool_result","tool_use_id":"toolu_` + n + `","content":"x"}` }
	ask := func(content, results string) string {
		messages := `{"role":"user","content":"Look."}`
		if content != "" {
			messages += `,{"role":"assistant","content":[` + content + `]},{"role":"user","content":[` + results + `]}`
		}
		return `{"model":"claude-opus-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` +
			messages + `]}`
	}
	reply := func(content string) string {
		return `{"type":"message","role":"assistant","content":[` + content + `],"stop_reason":"tool_use"}`
	}
	first := thinking + `,` + said + `,` + call("1")
	for content, findings := range map[string]int{
		first + `,` + call("2"):                                                 0,
		first + `,` + later + `,` + call("2"):                                   0,
		thinking + `,` + later + `,` + said + `,` + call("1") + `,` + call("2"): 0,
		said + `,` + thinking + `,` + call("1") + `,` + call("2"):               2,
		said + `,` + call("1") + `,` + later + `,` + call("2"):                  1,
	} {
		res := find(t, "SIG-004/leads").Run(recording(
			asked(0, "anthropic", ask("", ""), 200, reply(first)),
			asked(1, "anthropic", ask(first, result("1")), 200, reply(later+`,`+call("2"))),
			asked(2, "anthropic", ask(content, result("1")+`,`+result("2")), 200, reply(said))))
		if len(res.Findings) != findings || res.Observed != 3 {
			t.Errorf("%s: %+v", content, res)
		}
	}
}

// TestAnotherModelGetsNoThinking: another model goes on with a turn without its thinking, but not with a part of it.
func TestAnotherModelGetsNoThinking(t *testing.T) {
	const redacted = `{"type":"redacted_thinking","data":"c2lnMDAy"}`
	const call = `{"type":"tool_use","id":"toolu_1","name":"read","input":{}}`
	const reply = `{"type":"thinking","thinking":"Hm.","signature":"c2lnMDAx"},` + redacted + `,` + call
	ask := func(model, more string) string {
		return `{"model":"` + model + `","max_tokens":4096,"thinking":{"type":"adaptive"},"messages":[` +
			`{"role":"user","content":"Look."}` + more + `]}`
	}
	for _, c := range []struct {
		model, content string
		findings       int
	}{{"claude-opus-4-6", call, 2}, {"claude-opus-4-8", call, 0}, {"claude-opus-4-8", redacted + `,` + call, 1}} {
		res := find(t, "SIG-002/kept").Run(recording(
			asked(0, "anthropic", ask("claude-opus-4-6", ""), 200,
				`{"type":"message","role":"assistant","content":[`+reply+`],"stop_reason":"tool_use"}`),
			asked(1, "anthropic", ask(c.model, `,{"role":"assistant","content":[`+c.content+
				`]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}`), 200, "{}")))
		if len(res.Findings) != c.findings {
			t.Errorf("%s goes on with %s: %+v", c.model, c.content, res)
		}
	}
}
