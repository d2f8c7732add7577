package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// resumedAt is a recording whose exchanges from one on are those of another process, which
// goes on with the session.
func resumedAt(border int, list ...evidence.Exchange) *check.Trace {
	for i := range list {
		list[i].Process = 0
		if i >= border {
			list[i].Process = 1
		}
	}
	return check.Decode(&evidence.Evidence{Source: evidence.SourceSimulator, Case: "made-up", Exchanges: list,
		Process: []evidence.Process{{ExitCode: 1}, {ExitCode: 1, Resumed: true}}})
}

// TestRefusedSettingComesAgain: a tool that was refused may be offered by the next process,
// because the user decides about tools; what stands in the history may not come again, and
// neither may be tried again by the same process.
func TestRefusedSettingComesAgain(t *testing.T) {
	prompt := `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`
	longer := strings.Replace(prompt, `"Hi"}`, `"Hi"},{"type":"text","text":"Again."}`, 1)
	for words, isFound := range map[string][2]bool{ // in the same process, in the next
		"tools.0.custom.input_schema: JSON schema is invalid.":       {true, false},
		"messages.0.content.0.text: text content blocks are no good": {true, true},
		"Could not process image":                                    {true, true},
		"This model does not support effort level 'max'.":            {true, false},
	} {
		said := strings.Replace(errorShapes["anthropic"], "WORDS", words, 1)
		for process, want := range isFound {
			tr := resumedAt(2-process, asked(0, "anthropic", prompt, 400, said),
				asked(1, "anthropic", longer, 400, said))
			if res := find(t, "ERR-002/same-words").Run(tr); (len(res.Findings) > 0) != want {
				t.Errorf("%s: in process %d: %+v", words, process, res)
			}
		}
	}
}

// TestTriedWithoutABeta: a client may try the same turn without a beta, and without a member,
// that a gateway may not know. The next turn may not hold what was refused.
func TestTriedWithoutABeta(t *testing.T) {
	prompt := `{"model":"claude-opus-4-6","max_tokens":9,"output_config":{"effort":"max"},"system":"Be brief.","messages":[{"role":"user","content":"Hi"}]}`
	said := strings.Replace(errorShapes["anthropic"], "WORDS", "This model does not support effort level 'max'.", 1)
	for _, c := range []struct {
		betas, body string
		want        [2]int // findings of ERR-002/same-bytes and same-words
	}{
		{"a,b", prompt, [2]int{1, 0}},
		{"a", prompt, [2]int{0, 0}},
		{"a,b", strings.Replace(prompt, `"system":"Be brief.",`, "", 1), [2]int{0, 0}},
		{"a", strings.Replace(prompt, `"Hi"}`,
			`"Hi"},{"role":"assistant","content":"Hm."},{"role":"user","content":"Again."}`, 1), [2]int{0, 1}},
	} {
		first, again := asked(0, "anthropic", prompt, 400, said), asked(1, "anthropic", c.body, 400, said)
		first.Request.Header.Set("Anthropic-Beta", "a,b")
		again.Request.Header.Set("Anthropic-Beta", c.betas)
		tr := resumedAt(2, first, again)
		got := [2]int{len(find(t, "ERR-002/same-bytes").Run(tr).Findings),
			len(find(t, "ERR-002/same-words").Run(tr).Findings)}
		if got != c.want {
			t.Errorf("%s %s: found %v, want %v", c.betas, c.body, got, c.want)
		}
	}
}

// TestCutReplyMayGo: a reply that ended at the limit of tokens may be left out by the next
// process, a whole one may not.
func TestCutReplyMayGo(t *testing.T) {
	prompt := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Tell me of herons."}MORE]}`
	for stop, want := range map[string]int{"max_tokens": 0, "end_turn": 1} {
		tr := resumedAt(1,
			asked(0, "anthropic", strings.Replace(prompt, "MORE", "", 1), 200,
				`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"A heron stands in"}],"stop_reason":"`+stop+`"}`),
			asked(1, "anthropic", strings.Replace(prompt, "MORE", `,{"role":"user","content":"And of egrets."}`, 1),
				200,
				`{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn"}`))
		if res := find(t, "RES-004/last-reply").Run(tr); len(res.Findings) != want {
			t.Errorf("%s: %+v", stop, res)
		}
	}
}

// TestReplyJoinedToItsPart: a client that lets the model go on with the part of a reply that was cut may keep both as
// one text. A text of which the reply is no part has lost the reply.
func TestReplyJoinedToItsPart(t *testing.T) {
	said := func(messages string) string {
		return `{"model":"deepseek-chat","messages":[{"role":"user","content":"Tell me of herons."}` + messages + `]}`
	}
	for text, want := range map[string]int{"A heron stands in the reeds.": 0, "A heron stands": 1, "It stands in the reeds.": 1} {
		tr := resumedAt(1,
			asked(0, "chat", said(`,{"role":"assistant","content":"A heron"},{"role":"user","content":"Go on."}`), 200,
				`{"choices":[{"index":0,"message":{"role":"assistant","content":" stands in the reeds."},"finish_reason":"stop"}]}`),
			asked(1, "chat", said(`,{"role":"assistant","content":"`+text+`"},{"role":"user","content":"And egrets?"}`), 200, ""))
		if res := find(t, "RES-004/last-reply").Run(tr); len(res.Findings) != want {
			t.Errorf("%s: %+v", text, res)
		}
	}
}

// TestBrokenReplyMayGo: a reply that broke off or was declined, or that cannot stand alone,
// may be left out of the conversation. What is an answer, or the beginning of one, may not.
func TestBrokenReplyMayGo(t *testing.T) {
	const words = `{"parts":[{"text":"I will"}],"role":"model"}`
	gemini := func(content, stop string) string {
		return `{"candidates":[{"content":` + content + `,"finishReason":"` + stop + `"}]}`
	}
	openAI := func(output, rest string) string {
		return `{"id":"resp_1","object":"response",` + rest + `,"output":[` + output + `]}`
	}
	claude := func(content, stop string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","content":[` + content + `],"stop_reason":"` +
			stop + `"}`
	}
	said := func(part string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","content":[` + part + `]}`
	}
	const reasoning = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}`
	next := map[string]string{
		"anthropic": `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Look."}MORE]}`,
		"openai":    `{"model":"gpt-5.5","store":false,"input":[{"role":"user","content":"Look."}MORE]}`,
		"gemini":    `{"contents":[{"role":"user","parts":[{"text":"Look."}]}MORE]}`,
	}
	more := map[string]string{"anthropic": `,{"role":"user","content":"Go on."}`,
		"openai": `,{"role":"user","content":"Go on."}`,
		"gemini": `,{"role":"user","parts":[{"text":"Go on."}]}`}
	for _, c := range []struct {
		provider, reply string
		want            int
	}{
		{"gemini", gemini(words, "MALFORMED_FUNCTION_CALL"), 0},
		{"gemini", gemini(`{"parts":[{"functionCall":{"name":"ls","args":{}}}]}`, "UNEXPECTED_TOOL_CALL"), 0},
		{"gemini", gemini(words, "MISSING_THOUGHT_SIGNATURE"), 0},
		{"gemini", gemini(words, "MALFORMED_RESPONSE"), 0},
		{"gemini", gemini(words, "RECITATION"), 0},
		{"gemini", gemini(words, "SAFETY"), 0},
		{"gemini", gemini(`{"parts":[{"text":"Hm.","thought":true}]}`, "STOP"), 0},
		{"gemini", gemini(words, "STOP"), 1},
		{"gemini", gemini(words, "MAX_TOKENS"), 1},
		{"gemini", gemini(`{"parts":[{"text":"","thoughtSignature":"c2ln"}]}`, "STOP"), 1},
		{"openai", openAI(said(`{"type":"refusal","refusal":"No."}`), `"status":"completed"`), 0},
		{"openai", openAI(said(`{"type":"output_text","text":"I"}`),
			`"status":"incomplete","incomplete_details":{"reason":"content_filter"}`), 0},
		{"openai", openAI(said(`{"type":"output_text","text":"I"}`),
			`"status":"failed","error":{"code":"server_error","message":"no"}`), 0},
		{"openai", openAI(reasoning, `"status":"completed"`), 0},
		{"openai", openAI(said(`{"type":"output_text","text":"I"}`),
			`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`), 1},
		{"openai", openAI(`{"type":"function_call","id":"fc_1","call_id":"c1","name":"ls","arguments":"{\"pa"}`,
			`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`), 0},
		{"openai", openAI(`{"type":"function_call","id":"fc_1","call_id":"c1","name":"ls","arguments":"{}"}`,
			`"status":"completed"`), 1},
		{"openai", openAI(said(`{"type":"output_text","text":"I"}`), `"status":"completed"`), 1},
		{"anthropic", claude(`{"type":"text","text":"I"}`, "refusal"), 0},
		{"anthropic", claude(`{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`, "end_turn"), 0},
		{"anthropic", claude(`{"type":"text","text":"I"}`, "pause_turn"), 1},
		{"anthropic", claude(`{"type":"text","text":"I"}`, "end_turn"), 1},
	} {
		request := func(more string) string { return strings.Replace(next[c.provider], "MORE", more, 1) }
		tr := recording(asked(0, c.provider, request(""), 200, c.reply),
			asked(1, c.provider, request(more[c.provider]), 200, ""))
		if res := find(t, "RES-004/last-reply").Run(tr); len(res.Findings) != c.want {
			t.Errorf("%s: %+v", c.reply, res.Findings)
		}
	}
}

// TestBrokenCallMayGo: the call of a reply that broke off for it need not come back with the
// words before it.
func TestBrokenCallMayGo(t *testing.T) {
	for stop, want := range map[string]int{"UNEXPECTED_TOOL_CALL": 0, "MALFORMED_FUNCTION_CALL": 0, "STOP": 1} {
		const prompt = `{"role":"user","parts":[{"text":"Look around."}]}`
		reply := `{"candidates":[{"content":{"parts":[{"text":"I will look."},{"functionCall":{"name":"ls","args":{}}}]},"finishReason":"` + stop + `"}]}`
		tr := recording(asked(0, "gemini", `{"contents":[`+prompt+`]}`, 200, reply),
			asked(1, "gemini", `{"contents":[`+prompt+`,{"role":"model","parts":[{"text":"I will look."}]},`+prompt+
				`]}`, 200, ""))
		if res := find(t, "ORD-009/calls-kept").Run(tr); len(res.Findings) != want {
			t.Errorf("%s: %+v", stop, res.Findings)
		}
	}
}

// TestStandInIsTheClients: what a client writes in the place of a refused image is not a result
// of a tool, and another wording degrades the conversation. Without the refusal a changed
// result is unsafe.
func TestStandInIsTheClients(t *testing.T) {
	const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`
	text := func(words string) string { return `{"type":"text","text":"` + words + `"}` }
	request := func(content, more string) string {
		return `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[` + content + `]}]}` +
			more + `]}`
	}
	reply := func(content, stop string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[` + content +
			`],"stop_reason":"` + stop + `"}`
	}
	refused := strings.Replace(errorShapes["anthropic"], "WORDS", "Could not process image", 1)
	for _, c := range []struct {
		first  string
		status int
		reply  string
		want   specs.Consequence
	}{
		{image, 400, refused, specs.Degraded},
		{text("a red square"), 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, ""},
	} {
		tr := resumedAt(3,
			asked(0, "anthropic",
				`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Look."}]}`, 200,
				reply(`{"type":"tool_use","id":"toolu_1","name":"look","input":{}}`, "tool_use")),
			asked(1, "anthropic", request(c.first, ""), c.status, c.reply),
			asked(2, "anthropic", request(text("(removed)"), ""), 200, reply(text("It cannot be seen."), "end_turn")),
			asked(3, "anthropic", request(text("(an image was here)"), `,{"role":"assistant","content":[`+
				text("It cannot be seen.")+`]},{"role":"user","content":"Name a bird."}`), 200,
				reply(text("A heron."), "end_turn")))
		res := find(t, "RES-001/prefix").Run(tr)
		if len(res.Findings) != 1 || res.Findings[0].Consequence != c.want {
			t.Errorf("%d: %+v", c.status, res)
		}
	}
}

// TestWordsOfAMissingTool: a result that says in any usual words that there is no such tool is
// no invented one. OpenAI's format has no mark for errors.
func TestWordsOfAMissingTool(t *testing.T) {
	request := func(more string) string {
		return `{"model":"gpt-5.5","store":false,"tools":[{"type":"function","name":"echo","parameters":{"type":"object"}}],"input":[{"role":"user","content":"Look."}` + more + `]}`
	}
	const call = `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look_up","arguments":"{}","status":"completed"}`
	for words, want := range map[string]int{
		"there is no tool look_up":            0,
		"Tool look_up does not exist.":        0,
		"look_up is not available":            0,
		"Model tried to call unavailable it.": 0,
		"3 herons":                            1,
		"":                                    1,
	} {
		tr := recording(
			asked(0, "openai", request(""), 200,
				`{"id":"resp_1","object":"response","status":"completed","output":[`+call+`]}`),
			asked(1, "openai", request(`,`+call+`,{"type":"function_call_output","call_id":"call_1","output":"`+words+
				`"}`), 200, `{"id":"resp_2","object":"response","status":"completed","output":[]}`))
		if res := find(t, "TOOL-001/unknown-tool").Run(tr); len(res.Findings) != want || res.Observed != 1 {
			t.Errorf("%q: %+v", words, res)
		}
	}
	const asks = `{"contents":[{"role":"user","parts":[{"text":"Look."}]}MORE],"tools":[{"functionDeclarations":[{"name":"echo"}]}]}`
	for member, want := range map[string]int{"error": 0, "output": 1} {
		tr := recording(
			asked(0, "gemini", strings.Replace(asks, "MORE", "", 1), 200,
				`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look_up","args":{}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`),
			asked(1, "gemini", strings.Replace(asks, "MORE",
				`,{"role":"model","parts":[{"functionCall":{"name":"look_up","args":{}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"look_up","response":{"`+member+`":"try echo"}}}]}`, 1), 200, `{"candidates":[{"content":{"role":"model","parts":[{"text":"No."}]},"finishReason":"STOP"}]}`))
		if res := find(t, "TOOL-001/unknown-tool").Run(tr); len(res.Findings) != want || res.Observed != 1 {
			t.Errorf("gemini, %s: %+v", member, res)
		}
	}
}

// TestMissingToolEndsNoRun: a process that fails at a call of a tool that is not offered does
// not tell the model so. One that was told of the tool fails for another reason.
func TestMissingToolEndsNoRun(t *testing.T) {
	r, err := specs.FindRequirement("TOOL-001")
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]int{"read_file": 1, "ls": 0} {
		for exit, fails := range map[int]bool{0: false, 1: true, 130: false, -1: false} {
			ev := evidence.FromExample(r, altered(t, r.Examples.Failing,
				[]string{`"name":"read_file"`, `"name":"` + tool + `"`}))
			ev.Exchanges[0].Process, ev.Exchanges, ev.Process = 0, ev.Exchanges[:1],
				[]evidence.Process{{ExitCode: exit}}
			found := find(t, "TOOL-001/unknown-tool").Run(check.Decode(&ev)).Findings
			if fails && want == 1 {
				if len(found) != 1 || found[0].Consequence != specs.Degraded ||
					!strings.Contains(found[0].Message, `process 0 exited 1 after the model called "ls"`) {
					t.Errorf("%s, exit %d: %+v", tool, exit, found)
				}
			} else if len(found) > 0 {
				t.Errorf("%s, exit %d: %+v", tool, exit, found)
			}
		}
	}
}

// TestThinkingSentTwice: the provider's words about ids of calls are quoted for calls alone.
func TestThinkingSentTwice(t *testing.T) {
	const thought, call = `{"type":"thinking","thinking":"Birds.","signature":"c2lnbmF0dXJlLW9mLWEtdGhvdWdodA=="}`,
		`{"type":"tool_use","id":"toolu_1","name":"look","input":{}}`
	for block, rule := range map[string]string{thought: "", call: "A-18"} {
		next := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":[` + thought + `,` + call + `,` + block + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a heron"}]}]}`
		tr := recording(
			asked(0, "anthropic",
				`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Look."}]}`, 200,
				`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[`+thought+`,`+
					call+`],"stop_reason":"tool_use"}`),
			asked(1, "anthropic", next, 200,
				`{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"A heron."}],"stop_reason":"end_turn"}`))
		res := find(t, "ORD-010/sent-once").Run(tr)
		if len(res.Findings) != 1 || res.Findings[0].Rule != rule {
			t.Errorf("%s: %+v", block, res)
		}
	}
}

// TestOpenCallsMayGo: on Chat Completions a process may leave out the calls that were open when the process before it
// ended, alone or with their reply. The process that was asked for the results may not, and no answered call may go.
func TestOpenCallsMayGo(t *testing.T) {
	const (
		call   = `"tool_calls":[{"id":"call_1","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
		open   = `{"role":"assistant","content":"I look.",` + call
		result = `{"role":"tool","tool_call_id":"call_1","content":"12 files"}`
	)
	body := func(messages ...string) string {
		return `{"model":"m","messages":[{"role":"user","content":"Look."},` + strings.Join(messages, ",") +
			`{"role":"user","content":"Stop."}]}`
	}
	reply := func(message, stop string) string {
		return `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"` + stop + `","message":` + message + `}]}`
	}
	ask := `{"model":"m","messages":[{"role":"user","content":"Look."}]}`
	answered := strings.Replace(ask, `"}]`, `"},`+open+`,`+result+`]`, 1)
	said := `{"role":"assistant","content":"I look."},`
	for name, c := range map[string]struct {
		border int
		list   []string // bodies; all but the last are answered by the open call and by a text
		want   string
	}{
		"the whole reply":              {1, []string{ask, body()}, ""},
		"the call of it":               {1, []string{ask, body(said)}, ""},
		"of the same process":          {9, []string{ask, body()}, "RES-004 degraded"},
		"the call of the same process": {9, []string{ask, body(said)}, "ORD-009"},
		"an answered call":             {2, []string{ask, answered, body(said)}, "RES-004 ORD-009"},
	} {
		var list []evidence.Exchange
		for i, request := range c.list {
			answer := reply(open, "tool_calls")
			if i > 0 {
				answer = reply(`{"role":"assistant","content":"Twelve."}`, "stop")
			}
			list = append(list, chatAsked(i, "api.openai.com", request, answer))
		}
		tr, got := resumedAt(c.border, list...), ""
		for _, id := range []string{"RES-004/last-reply", "ORD-009/calls-kept"} {
			for _, f := range find(t, id).Run(tr).Findings {
				got += " " + strings.TrimSpace(id[:7]+" "+string(f.Consequence))
			}
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
