package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// TestMaskedTokens: what a recorder put in the place of tokens repeats from session to
// session, and says nothing of the model that issued it.
func TestMaskedTokens(t *testing.T) {
	reply := `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"TOKEN"},{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	next := `{"model":"claude-fable-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"TOKEN"},{"type":"text","text":"ok"}]},{"role":"user","content":"more"}]}`
	for token, found := range map[string]bool{"signature_REDACTED_1": false, "c2lnbmF0dXJlLW5vMDAwMQ==": true} {
		fill := func(s string) string { return strings.Replace(s, "TOKEN", token, 1) }
		tr := recording(asked(0, "anthropic",
			`{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, 200, fill(reply)),
			asked(1, "anthropic", fill(next), 200, fill(reply)))
		if res := find(t, "SIG-019/own-model").Run(tr); (len(res.Findings) > 0) != found {
			t.Errorf("%s: %+v", token, res)
		}
	}
}

// TestHeadersOfTwoClients: a recording of two clients may keep the headers of one alone;
// a header that the same client sends elsewhere is missing.
func TestHeadersOfTwoClients(t *testing.T) {
	for agent, found := range map[string]bool{"": false, "one/1.0": true} {
		ask := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
		first, second := asked(0, "anthropic", ask, 200, ""), asked(1, "anthropic", ask, 200, "")
		first.Request.Header = http.Header{"Anthropic-Version": {"2023-06-01"}, "User-Agent": {"one/1.0"}}
		second.Request.Header = http.Header{"Content-Type": {"application/json"}}
		if agent != "" {
			second.Request.Header.Set("User-Agent", agent)
		}
		if res := find(t, "PAR-011/headers").Run(recording(first, second)); (len(res.Findings) > 0) != found {
			t.Errorf("%q: %+v", agent, res)
		}
	}
}

// TestIssuersAreApart: tokens of two models that go to another one are two findings. Each names
// its token, the model that issued it and those that were sent it, and quotes the refusal of its
// own place.
func TestIssuersAreApart(t *testing.T) {
	const first, second = "c2lnbmF0dXJlLW5vMDAwMQ==", "b3RoZXItc2lnbmF0dXJlLW5vMg=="
	thought := func(token string) string {
		return `{"type":"thinking","thinking":"Hm.","signature":"` + token + `"},{"type":"text","text":"` +
			token[:4] + `"}`
	}
	reply := func(token string) string {
		return `{"type":"message","role":"assistant","content":[` + thought(token) + `],"stop_reason":"end_turn"}`
	}
	ask := func(model string, tokens ...string) string {
		messages := `{"role":"user","content":"hi"}`
		for _, token := range tokens {
			messages += `,{"role":"assistant","content":[` + thought(token) + `]},{"role":"user","content":"more"}`
		}
		return `{"model":"` + model + `","max_tokens":9,"messages":[` + messages + `]}`
	}
	list := []evidence.Exchange{
		asked(0, "anthropic", ask("claude-opus-4-5"), 200, reply(first)),
		asked(1, "anthropic", ask("kimi-k2", first), 200, reply(second)),
		asked(2, "anthropic", ask("claude-sonnet-4-6", first, second), 400,
			strings.Replace(errorShapes["anthropic"], "WORDS", "messages.3.content.0: Invalid data", 1)),
	}
	list[1].Request.URL = "https://api.kimi.example/v1/messages"
	got := map[string]string{}
	for _, res := range report.Judge(catalogue(t),
		&evidence.Evidence{Source: evidence.SourceRecording, Exchanges: list}) {
		for _, f := range res.Findings {
			if f.Check == "SIG-019/own-model" {
				got[f.Path] = f.Message
			}
		}
	}
	refused := `Anthropic refused the request: "messages.3.content.0: Invalid data"`
	for path, want := range map[string][]string{
		"messages[1].content[0]": {"c2lnbm…MQ==",
			"of model claude-opus-4-5 at api.anthropic.com to model kimi-k2 at api.kimi.example and claude-sonnet-4-6 at api.anthropic.com"},
		"messages[3].content[0]": {"b3RoZX…Mg==",
			"of model kimi-k2 at api.kimi.example to model claude-sonnet-4-6 at api.anthropic.com", refused},
	} {
		for _, part := range want {
			if !strings.Contains(got[path], part) {
				t.Errorf("%s: %q is missing in %q", path, part, got[path])
			}
		}
	}
	if len(got) != 2 || strings.Contains(got["messages[1].content[0]"], refused) {
		t.Errorf("%q", got)
	}
}

// TestSystemIsCountedAsSent: a finding about the system prompt names the block by its place in
// the request, also behind a block that is not compared.
func TestSystemIsCountedAsSent(t *testing.T) {
	const billing = `{"type":"text","text":"x-anthropic-billing-header: cch=1;"},`
	for _, c := range []struct{ name, was, is, want string }{
		{"behind the block of the client",
			`[` + billing + `{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind."}]`,
			`[` + strings.Replace(billing, "=1", "=2", 1) +
				`{"type":"text","text":"Be brief."},{"type":"text","text":"Be cold."}]`, "system[2].text changed"},
		{"without one", `[{"type":"text","text":"Be brief."}]`, `[{"type":"text","text":"Be long."}]`,
			"system[0].text changed"},
		{"a text", `"Be brief."`, `"Be long."`, "system changed"},
		{"blocks became a text", `[{"type":"text","text":"Be brief."}]`, `"Be long."`, "system changed"},
		{"only the block of the client", `[` + billing + `{"type":"text","text":"Be brief."}]`,
			`[` + strings.Replace(billing, "=1", "=2", 1) + `{"type":"text","text":"Be brief."}]`, ""},
	} {
		const said = `{"role":"assistant","content":[{"type":"text","text":"ok"}]}`
		head := `{"model":"claude-opus-4-6","max_tokens":9,"system":`
		reply := `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
		tr := recording(asked(0, "anthropic", head+c.was+`,"messages":[{"role":"user","content":"hi"}]}`, 200, reply),
			asked(1, "anthropic", head+c.is+`,"messages":[{"role":"user","content":"hi"},`+said+
				`,{"role":"user","content":"more"}]}`, 200, reply))
		got := find(t, "RES-002/system").Run(tr).Findings
		if (len(got) > 0) != (c.want != "") || c.want != "" && !strings.Contains(got[0].Message, ": "+c.want) {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

// TestMembersOfMessagesHaveNoOrder: a message whose members changed places makes the same
// prompt; arguments of a call in another order do not.
func TestMembersOfMessagesHaveNoOrder(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		findings int
	}{
		"message":   {`{"role":"user","content":"Look."}`, `{"content":"Look.","role":"user"}`, 0},
		"part":      {`{"type":"text","text":"I look."}`, `{"text":"I look.","type":"text"}`, 0},
		"arguments": {`{"a":1,"b":2}`, `{"b":2,"a":1}`, 1},
	} {
		const call = `{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"ls","input":{"a":1,"b":2}}`
		const result = `{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}`
		const prompt = `{"role":"user","content":"Look."}`
		const second = prompt + `,{"role":"assistant","content":[` + call + `]},{"role":"user","content":[` +
			result + `]}`
		const third = second + `,{"role":"assistant","content":"It is x."},{"role":"user","content":"Thanks."}`
		ask := func(messages string) string {
			return `{"model":"claude-opus-4-6","max_tokens":99,"messages":[` + messages + `]}`
		}
		reply := func(content string) string {
			return `{"type":"message","role":"assistant","content":[` + content + `],"stop_reason":"end_turn"}`
		}
		res := find(t, "RES-007/bytes").Run(recording(asked(0, "anthropic", ask(prompt), 200, reply(call)),
			asked(1, "anthropic", ask(second), 200, reply(`{"type":"text","text":"It is x."}`)),
			asked(2, "anthropic", ask(strings.Replace(third, c.old, c.new, 1)), 200,
				reply(`{"type":"text","text":"Bye."}`))))
		if len(res.Findings) != c.findings || res.Observed != 1 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestSentTwice: an item id that stands twice is refused. A copy without an id is not known to be.
func TestSentTwice(t *testing.T) {
	const reply = `{"object":"response","status":"completed","output":[{"type":"reasoning","id":"rs_01","summary":[],"encrypted_content":"gAAAAABsigned-content-1"},
{"type":"message","id":"msg_01","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}]}`
	for id, want := range map[string]specs.Consequence{"": specs.Degraded, `"id":"rs_01",`: ""} {
		thought := `{"type":"reasoning",` + id + `"summary":[],"encrypted_content":"gAAAAABsigned-content-1"},`
		next := `{"model":"gpt-5.2","store":false,"input":[{"role":"user","content":"hi"},` + thought + thought +
			`{"role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"role":"user","content":"more"}]}`
		tr := recording(asked(0, "openai", minimal["openai"], 200, reply), asked(1, "openai", next, 200, reply))
		got := find(t, "ORD-010/sent-once").Run(tr).Findings
		if len(got) != 1 || got[0].Consequence != want || (got[0].Rule == "O-9") != (want == "") {
			t.Errorf("with %q: %+v", id, got)
		}
	}
}
