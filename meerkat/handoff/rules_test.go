package handoff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// target returns the target of a model.
func target(tb testing.TB, model string) Target {
	tb.Helper()
	m, err := catalog.Lookup(model)
	if err != nil {
		tb.Fatal(err)
	}
	api := map[string]string{
		catalog.Anthropic: "messages", catalog.OpenAI: "responses", catalog.Gemini: "generateContent",
	}
	return Target{Provider: m.Provider, API: api[m.Provider], Account: "a", Model: m}
}

const (
	opus   = "claude-opus-4-6"
	budget = "claude-opus-4-5"
	fable  = "claude-fable-5-1"
	gpt    = "gpt-5.2"
	flash  = "gemini-3-flash-preview"
)

var origins = map[string]transcript.Origin{
	opus:   {Provider: catalog.Anthropic, API: "messages", Model: opus, Account: "a"},
	budget: {Provider: catalog.Anthropic, API: "messages", Model: budget, Account: "a"},
	fable:  {Provider: catalog.Anthropic, API: "messages", Model: fable, Account: "a"},
	gpt:    {Provider: catalog.OpenAI, API: "responses", Model: gpt, Account: "a"},
	flash:  {Provider: catalog.Gemini, API: "generateContent", Model: flash, Account: "a"},
}

// by stamps blocks with the origin of a model.
func by(model string, blocks ...transcript.Block) []transcript.Block {
	for i := range blocks {
		o := origins[model]
		o.Index = i
		blocks[i].Origin = &o
	}
	return blocks
}

func signed(text string) transcript.Block {
	return transcript.Reasoning(text, &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "c2ln"})
}

func redacted() transcript.Block {
	return transcript.Reasoning("", &transcript.Meta{Provider: transcript.MetaAnthropicRedacted, Data: "ZGF0YQ=="})
}

func encrypted() transcript.Block {
	content := "gAAAA"
	return transcript.Reasoning(
		"x", &transcript.Meta{Provider: transcript.MetaOpenAI, ID: "rs_1", EncryptedContent: &content},
	)
}

func withSignature(b transcript.Block, signature string) transcript.Block {
	b.Meta = &transcript.Meta{Provider: transcript.MetaGemini, ThoughtSignature: signature}
	return b
}

func call(id string) transcript.Block { return transcript.ToolUse(id, "t", []byte(`{"a":1}`)) }

func raw(b transcript.Block, object string) transcript.Block {
	b.Raw = []byte(object)
	return b
}

func opaque(kind, object string) transcript.Block {
	return transcript.Block{Type: transcript.BlockOpaque, Kind: kind, Raw: []byte(object)}
}

func says(blocks ...transcript.Block) transcript.Message {
	return transcript.Assistant(transcript.StopEndTurn, blocks...)
}

func answer(ids ...string) transcript.Message {
	var all []transcript.ToolResult
	for _, id := range ids {
		all = append(all, transcript.ToolResult{ToolUseID: id, Content: "r:" + id})
	}
	return transcript.ToolResults(all...)
}

// sketch is a transcript in short: one word a message.
func sketch(messages []transcript.Message) string {
	s := ""
	for i := range messages {
		m := &messages[i]
		if i > 0 {
			s += " "
		}
		switch m.Role {
		case transcript.RoleAssistant:
			s += "a["
			for i := range m.Blocks {
				s += letter(&m.Blocks[i])
			}
			s += "]"
		case transcript.RoleToolResults:
			s += "r["
			for i, r := range m.Results {
				if i > 0 {
					s += ","
				}
				s += r.ToolUseID
			}
			s += "]"
		default:
			s += string(m.Role[:1])
		}
	}
	return s
}

// letter is r, t, c or o; upper case with its token or wire form.
func letter(b *transcript.Block) string {
	letters := map[transcript.BlockType][2]string{
		transcript.BlockReasoning: {"r", "R"}, transcript.BlockText: {"t", "T"},
		transcript.BlockToolUse: {"c", "C"}, transcript.BlockOpaque: {"o", "O"},
	}[b.Type]
	if tokenOf(b) != "" || len(b.Raw) > 0 {
		return letters[1]
	}
	return letters[0]
}

func lost(all []Degradation) []string {
	var rules []string
	for _, d := range all {
		rules = append(rules, d.Rule)
	}
	return rules
}

// ruleCase is a history and what becomes of it.
type ruleCase struct {
	model    string
	messages []transcript.Message
	want     string
	lost     []string
	off      bool
}

var user = transcript.User("u")

func conversation(messages ...transcript.Message) []transcript.Message {
	return append([]transcript.Message{user}, messages...)
}

func run(t *testing.T, cases map[string]ruleCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := Build(History{Messages: c.messages}, target(t, c.model))
			if err != nil {
				t.Fatal(err)
			}
			if got := sketch(out.Messages); got != c.want {
				t.Errorf("sent %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(c.lost, lost(out.Degraded), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("losses: %s%v", diff, out.Degraded)
			}
			if out.ThinkingOff != c.off {
				t.Errorf("thinking off: %v", out.ThinkingOff)
			}
		})
	}
}

// TestThinking: Of each
// rule the smallest case, and the nearest one that loses nothing.
func TestThinking(t *testing.T) {
	elsewhere := by(opus, signed("x"), transcript.Text("t"))
	elsewhere[0].Origin.Account = "b"
	surface := by(opus, signed("x"), transcript.Text("t"))
	surface[0].Origin.API = "bedrock"
	once := func() transcript.Message {
		m := says(by(opus, signed("x"), transcript.Text("t"))...)
		m.Blocks[0].Origin.ResponseID = "msg_1"
		return m
	}
	snapshot := by(opus, signed("x"), transcript.Text("t"))
	snapshot[0].Origin.Model = opus + "-20260204"
	run(t, map[string]ruleCase{
		"other-account: same origin": {
			opus, conversation(says(by(opus, signed("x"), transcript.Text("t"))...), user), "u a[Rt] u", nil, false,
		},
		"other-account: another account": {
			opus, conversation(says(elsewhere...), user), "u a[t] u", []string{"other-account"}, false,
		},
		"other-account: another API": {
			opus, conversation(says(surface...), user), "u a[t] u", []string{"other-account"}, false,
		},
		"foreign-thinking: of another provider": {
			gpt, conversation(says(by(opus, signed("x"), transcript.Text("t"))...), user), "u a[t] u",
			[]string{"foreign-thinking"}, false,
		},
		"foreign-thinking: the other way": {
			opus, conversation(says(by(gpt, encrypted(), transcript.Text("t"))...), user), "u a[t] u",
			[]string{"foreign-thinking"}, false,
		},
		"foreign-thinking: Gemini's thoughts": {
			opus, conversation(says(by(flash, transcript.Reasoning("x", nil), transcript.Text("t"))...), user),
			"u a[t] u", []string{"foreign-thinking"}, false,
		},
		"foreign-thinking: by the token alone": {
			gpt, conversation(says(signed("x"), transcript.Text("t")), user), "u a[t] u", []string{"foreign-thinking"},
			false,
		},
		"other-model: of another model": {
			opus, conversation(says(by(budget, signed("x"), transcript.Text("t"))...), user), "u a[t] u",
			[]string{"other-model"}, false,
		},
		"other-model: of another snapshot": {
			opus, conversation(says(snapshot...), user), "u a[Rt] u", nil, false,
		},
		"foreign-redacted-thinking: redacted elsewhere": {
			flash, conversation(says(by(opus, redacted(), transcript.Text("t"))...), user), "u a[t] u",
			[]string{"foreign-redacted-thinking"}, false,
		},
		"foreign-redacted-thinking: redacted at home": {
			opus, conversation(says(by(opus, redacted(), transcript.Text("t"))...), user), "u a[Rt] u", nil, false,
		},
		"unsigned-thinking: empty but signed": {
			opus, conversation(says(by(opus, signed(""), transcript.Text("t"))...), user), "u a[Rt] u", nil, false,
		},
		"unsigned-thinking: unsigned": {
			opus, conversation(says(by(opus, transcript.Reasoning("x", nil), transcript.Text("t"))...), user),
			"u a[t] u", []string{"unsigned-thinking"}, false,
		},
		"unsigned-thinking: made by hand": {
			opus, conversation(says(transcript.Reasoning("x", nil), transcript.Text("t")), user), "u a[t] u",
			[]string{"unsigned-thinking"}, false,
		},
		"unsigned-thinking: empty and unsigned": {
			opus, conversation(says(by(opus, transcript.Reasoning("", nil), transcript.Text("t"))...), user),
			"u a[t] u", nil, false,
		},
		"unsigned-thinking: takes its reply along": {
			opus,
			conversation(says(by(opus, signed("x"), transcript.Reasoning("y", nil), transcript.Text("t"))...), user),
			"u a[t] u", []string{"torn-reply", "unsigned-thinking"}, false,
		},
		"torn-reply: OpenAI's items": {
			gpt, conversation(says(by(gpt, encrypted(), raw(transcript.Text("t"), `{"id":"msg_1"}`))...), user),
			"u a[RT] u", nil, false,
		},
		"torn-reply: without all reasoning": {
			gpt,
			conversation(
				says(by(gpt, transcript.Reasoning("x", nil), raw(transcript.Text("t"), `{"id":"msg_1"}`))...), user,
			),
			"u a[t] u", []string{"unsigned-thinking"}, false,
		},
		"repeated-token: the same reply twice": {
			opus, conversation(once(), user, once(), user), "u a[Rt] u a[t] u", []string{"repeated-token"}, false,
		},
		"torn-reply: or one that looks so": {
			opus,
			conversation(
				says(by(opus, signed("x"), transcript.Text("t"))...), user,
				says(by(opus, signed("x"), transcript.Text("t"))...), user,
			),
			"u a[Rt] u a[Rt] u", nil, false,
		},
		"repeated-token: the same item twice": {
			gpt,
			conversation(says(by(gpt, encrypted(), transcript.Text("t"), encrypted(), transcript.Text("t"))...), user),
			"u a[tt] u", []string{"torn-reply", "repeated-token"}, false,
		},
		"foreign-token: a signature elsewhere": {
			gpt, conversation(says(by(flash, withSignature(transcript.Text("t"), "c2ln"))...), user), "u a[t] u",
			[]string{"foreign-token"}, false,
		},
		"foreign-token: at home": {
			flash, conversation(says(by(flash, withSignature(transcript.Text("t"), "c2ln"))...), user), "u a[T] u",
			nil, false,
		},
		"malformed-token: no base64": {
			flash, conversation(says(by(flash, withSignature(transcript.Text("t"), "s i g"))...), user), "u a[t] u",
			[]string{"malformed-token"}, false,
		},
		"signed empty text": {
			flash,
			conversation(says(by(flash, transcript.Text("x"), withSignature(transcript.Text(""), "c2ln"))...), user),
			"u a[tT] u", nil, false,
		},
		"thoughts stay": {
			flash, conversation(says(by(flash, transcript.Reasoning("x", nil), transcript.Text("t"))...), user),
			"u a[t] u", nil, false,
		},
		"trailing-thinking: ends with thinking": {
			opus, conversation(says(by(opus, transcript.Text("t"), signed("x"))...), user), "u a[t] u",
			[]string{"trailing-thinking"}, false,
		},
		"trailing-thinking: blank text behind": {
			opus, conversation(says(by(opus, transcript.Text("t"), signed("x"), transcript.Text(""))...), user),
			"u a[t] u", []string{"trailing-thinking"}, false,
		},
		"white space that the target issued": {
			opus, conversation(says(by(opus, transcript.Text("t"), signed("x"), transcript.Text(" "))...), user),
			"u a[tRt] u", nil, false,
		},
		"white space that anybody may have said": {
			opus, conversation(says(transcript.Text("t"), transcript.Text(" ")), user), "u a[t] u", nil, false,
		},
		"trailing-thinking: with all thinking": {
			opus, conversation(says(by(opus, signed("x"), transcript.Text("t"), signed("y"))...), user), "u a[t] u",
			[]string{"trailing-thinking", "trailing-thinking"}, false,
		},
		"trailing-thinking: lone reasoning": {
			gpt, conversation(says(by(gpt, encrypted())...), user), "u u", []string{"trailing-thinking"}, false,
		},
		"nothing left": {
			opus, conversation(says(by(gpt, encrypted())...), user), "u u", []string{"foreign-thinking"}, false,
		},
		"nothing there":              {opus, conversation(says(transcript.Text("")), user), "u u", nil, false},
		"nothing lost by plain text": {flash, conversation(says(transcript.Text("t")), user), "u a[t] u", nil, false},
		"and by that of others": {
			flash, conversation(says(by(opus, transcript.Text("t"))...), user), "u a[t] u", nil, false,
		},
	})
}

// TestOpenLoop: open-tool-loop.
func TestOpenLoop(t *testing.T) {
	thought := says(by(budget, signed("x"), call("1"))...)
	foreign := says(by(gpt, encrypted(), call("1"))...)
	developer := transcript.Developer("d")
	run(t, map[string]ruleCase{
		"open-tool-loop: loop begun elsewhere": {
			budget, conversation(foreign, answer("1")), "u a[c] r[1]", []string{"open-tool-loop", "foreign-thinking"},
			true,
		},
		"open-tool-loop: also behind a developer": {
			budget, conversation(foreign, answer("1"), developer), "u a[c] r[1] d",
			[]string{"open-tool-loop", "foreign-thinking"}, true,
		},
		"open-tool-loop: loop begun here": {
			budget, conversation(thought, answer("1")), "u a[Rc] r[1]", nil, false,
		},
		"open-tool-loop: goes on elsewhere": {
			budget, conversation(thought, answer("1"), says(by(gpt, call("2"))...), answer("2")),
			"u a[Rc] r[1] a[c] r[2]", nil, false,
		},
		"open-tool-loop: loop closed": {
			budget, conversation(foreign, answer("1"), says(transcript.Text("t")), user), "u a[c] r[1] a[t] u",
			[]string{"foreign-thinking"}, false,
		},
		"open-tool-loop: adaptive models do not care": {
			opus, conversation(foreign, answer("1")), "u a[c] r[1]", []string{"foreign-thinking"}, false,
		},
		"open-tool-loop: a user begins the loop anew": {
			budget, conversation(thought, answer("1"), user, says(by(gpt, call("2"))...), answer("2")),
			"u a[Rc] r[1] u a[c] r[2]", []string{"open-tool-loop"}, true,
		},
		"open-tool-loop: nothing to do without a loop": {budget, conversation(), "u", nil, false},
	})
}

// TestCalls: tool-name, missing-signature, open-call to interrupted-reply, invalid-arguments.
func TestCalls(t *testing.T) {
	broken := transcript.ToolUse("1", "t", []byte(`{"a":`))
	odd := transcript.ToolUse("1", "fs.read:x y", nil)
	stopped := transcript.Assistant
	ours := func() transcript.Block { return raw(withSignature(call("1"), "c2ln"), `{"functionCall":{"name":"t"}}`) }
	run(t, map[string]ruleCase{
		"tool-name: a foreign name": {
			opus, conversation(says(by(flash, odd)...), answer("1")), "u a[c] r[1]", []string{"tool-name"}, false,
		},
		"duplicate-call-id: a name of its own": {
			flash,
			conversation(
				says(by(flash, withSignature(transcript.ToolUse("1", "fs.read", nil), "c2ln"))...), answer("1"),
			),
			"u a[C] r[1]", nil, false,
		},
		"duplicate-call-id: twins": {
			opus, conversation(says(call("1"), call("1")), answer("1")), "u a[c] r[1]", []string{"duplicate-call-id"},
			false,
		},
		"duplicate-call-id: ids repeat over turns": {
			opus, conversation(says(call("1")), answer("1"), says(call("1")), answer("1")), "u a[c] r[1] a[c] r[1]",
			nil, false,
		},
		"missing-signature: a foreign call": {
			flash, conversation(says(by(opus, call("1"), call("2"))...), answer("1", "2")), "u a[cc] r[1,2]",
			[]string{"missing-signature"}, false,
		},
		"missing-signature: an unsigned call": {
			flash, conversation(says(by(flash, call("1"))...), answer("1")), "u a[c] r[1]",
			[]string{"missing-signature"}, false,
		},
		"missing-signature: signed at home": {
			flash, conversation(says(by(flash, ours(), call("2"))...), answer("1", "2")), "u a[Cc] r[1,2]", nil, false,
		},
		"foreign-token: a call elsewhere": {
			opus, conversation(says(by(flash, ours())...), answer("1")), "u a[c] r[1]", []string{"foreign-token"},
			false,
		},
		"torn-reply: a torn reply of Gemini": {
			flash, conversation(says(by(flash, ours(), call("1"))...), answer("1")), "u a[c] r[1]",
			[]string{"torn-reply", "duplicate-call-id"}, false,
		},
		"open-call: open": {
			opus, conversation(says(call("1")), user), "u a[c] r[1] u", []string{"open-call"}, false,
		},
		"open-call: one of two open": {
			opus, conversation(says(call("1"), call("2")), answer("2")), "u a[cc] r[1,2]", []string{"open-call"},
			false,
		},
		"open-call: at the end": {
			opus, conversation(says(call("1"))), "u a[c] r[1]", []string{"open-call"}, false,
		},
		"answered in two messages": {
			opus, conversation(says(call("1"), call("2")), answer("2"), answer("1")), "u a[cc] r[1,2]", nil, false,
		},
		"orphan-result: without its call": {
			opus, conversation(answer("9"), user), "u u", []string{"orphan-result"}, false,
		},
		"orphan-result: beside one with": {
			opus, conversation(says(call("1")), answer("1", "9")), "u a[c] r[1]", []string{"orphan-result"}, false,
		},
		"orphan-result: a turn too late": {
			opus, conversation(says(call("1")), says(transcript.Text("t")), answer("1")), "u a[c] r[1] a[t] u",
			[]string{"open-call", "orphan-result"}, false,
		},
		"orphan-result: the same twice": {
			opus, conversation(says(call("1")), answer("1"), answer("1")), "u a[c] r[1]", nil, false,
		},
		"orphan-result: another the second time": {
			opus,
			conversation(
				says(call("1")), answer("1"),
				transcript.ToolResults(transcript.ToolResult{ToolUseID: "1", Content: "x"}),
			),
			"u a[c] r[1]", []string{"orphan-result"}, false,
		},
		"X8 a developer between": {
			opus, conversation(says(call("1")), transcript.Developer("d"), user, answer("1")), "u a[c] r[1] d u", nil,
			false,
		},
		"interrupted-reply: text stays": {
			opus, conversation(stopped(transcript.StopAborted, by(opus, signed("x"), transcript.Text("t"))...), user),
			"u a[t] u", []string{"interrupted-reply"}, false,
		},
		"interrupted-reply: a cut call": {
			opus, conversation(stopped(transcript.StopCancelled, transcript.Text("t"), broken), user), "u a[t] u",
			[]string{"interrupted-reply"}, false,
		},
		"interrupted-reply: a whole call is closed": {
			opus, conversation(stopped(transcript.StopAborted, call("1")), user), "u a[c] r[1] u",
			[]string{"open-call"}, false,
		},
		"interrupted-reply: an answered one stays": {
			gpt, conversation(stopped(transcript.StopAborted, broken), answer("1")), "u a[c] r[1]", nil, false,
		},
		"interrupted-reply: not every end is one": {
			opus,
			conversation(stopped(transcript.StopMaxTokens, by(opus, signed("x"), transcript.Text("t"))...), user),
			"u a[Rt] u", nil, false,
		},
		"interrupted-reply: Gemini's own signature": {
			flash, conversation(stopped(transcript.StopAborted, by(flash, ours())...), answer("1")), "u a[c] r[1]",
			[]string{"interrupted-reply"}, false,
		},
		"invalid-arguments: no object": {
			opus, conversation(says(broken), answer("1")), "u a[c] r[1]", []string{"invalid-arguments"}, false,
		},
		"invalid-arguments: OpenAI takes a string": {
			gpt, conversation(says(broken), answer("1")), "u a[c] r[1]", nil, false,
		},
		"invalid-arguments: no text": {
			gpt, conversation(says(transcript.ToolUse("1", "t", []byte("{\"a\":\"\xff\"}"))), answer("1")),
			"u a[c] r[1]", []string{"invalid-arguments"}, false,
		},
		"invalid-arguments: none are an object": {
			opus, conversation(says(transcript.ToolUse("1", "t", nil)), answer("1")), "u a[c] r[1]", nil, false,
		},
	})
}

// TestServerTools: foreign-block.
func TestServerTools(t *testing.T) {
	use := opaque("server_tool_use", `{"type":"server_tool_use","id":"s1"}`)
	found := opaque("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"s1"}`)
	paused := transcript.Assistant(transcript.StopPauseTurn, by(opus, use)...)
	run(t, map[string]ruleCase{
		"foreign-block: a pair at home": {
			opus, conversation(says(by(opus, use, found, transcript.Text("t"))...), user), "u a[OOt] u", nil, false,
		},
		"foreign-block: a pair elsewhere": {
			gpt, conversation(says(by(opus, use, found, transcript.Text("t"))...), user), "u a[t] u",
			[]string{"foreign-block", "foreign-block"}, false,
		},
		"unpaired-server-tool: no result": {
			opus, conversation(says(by(opus, use, transcript.Text("t"))...), user), "u a[t] u",
			[]string{"unpaired-server-tool"}, false,
		},
		"unpaired-server-tool: no call": {
			opus, conversation(says(by(opus, found, transcript.Text("t"))...), user), "u a[t] u",
			[]string{"unpaired-server-tool"}, false,
		},
		"foreign-block: paused": {opus, conversation(paused), "u a[O]", nil, false},
		"foreign-block: paused and went on": {
			opus, conversation(paused, says(by(opus, found, transcript.Text("t"))...), user), "u a[O] a[Ot] u", nil,
			false,
		},
		"unpaired-server-tool: paused, went on without": {
			opus, conversation(paused, says(by(opus, transcript.Text("t"))...), user), "u a[t] u",
			[]string{"unpaired-server-tool"}, false,
		},
		"unpaired-server-tool: paused and left": {
			opus, conversation(paused, user), "u u", []string{"unpaired-server-tool"}, false,
		},
		"unpaired-server-tool: takes thinking away": {
			opus, conversation(says(by(opus, signed("x"), use, signed("y"), transcript.Text("t"))...), user),
			"u a[t] u", []string{"torn-reply", "unpaired-server-tool", "torn-reply"}, false,
		},
	})
}

// TestClosures: open-call by what the ledger knows.
func TestClosures(t *testing.T) {
	kept := &transcript.ToolResult{ToolUseID: "1", Content: "kept"}
	for status, want := range map[transcript.CallStatus]string{
		transcript.CallProposed: "not executed", transcript.CallRunning: "interrupted",
		transcript.CallInterrupted: "interrupted",
		transcript.CallCancelled:   "not executed", transcript.CallComplete: "the tool ran",
		transcript.CallError: "the tool failed",
	} {
		l, _ := transcript.NewLedger(transcript.CallRecord{Message: 1, CallID: "1", Name: "t", Status: status})
		out, _ := Build(History{Messages: conversation(says(call("1")), user), Ledger: l}, target(t, opus))
		r := out.Messages[2].Results[0]
		if len(r.Content) < len(want) || r.Content[:len(want)] != want || !r.IsError || len(out.Degraded) != 1 {
			t.Errorf("%s: %q, %v", status, r.Content, out.Degraded)
		}
	}
	l, _ := transcript.NewLedger(transcript.CallRecord{
		Message: 1, CallID: "1", Name: "t", Status: transcript.CallComplete, Result: kept,
	})
	for name, messages := range map[string][]transcript.Message{
		"a result of the ledger alone": conversation(says(call("1")), user),
		"that came too late": conversation(
			says(call("1")), says(transcript.Text("t")), transcript.ToolResults(*kept),
		),
	} {
		out, _ := Build(History{Messages: messages, Ledger: l}, target(t, opus))
		if r := out.Messages[2].Results[0]; r.Content != "kept" || len(out.Degraded) != 0 {
			t.Errorf("%s: %v, %v", name, r, out.Degraded)
		}
	}
	late := conversation(says(call("1")), says(transcript.Text("t")), answer("1"))
	if out, _ := Build(
		History{Messages: late, Ledger: l}, target(t, opus),
	); out.Messages[2].Results[0].Content != "kept" || cmp.Diff([]string{"orphan-result"}, lost(out.Degraded)) != "" {
		t.Errorf("too late, and not what the ledger has: %v", out.Degraded)
	}
	nameless := says(transcript.ToolUse("1", "", nil))
	out, _ := Build(History{Messages: conversation(nameless, answer("1")), Ledger: l}, target(t, opus))
	if name := out.Messages[1].Blocks[0].Name; name != "t" {
		t.Errorf("the ledger knows the name, not %q", name)
	}
}
