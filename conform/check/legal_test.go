package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// TestAcceptedByProviders: single requests that providers were recorded to accept, and
// that a stricter reading of their rules would not.
func TestAcceptedByProviders(t *testing.T) {
	const gemini = "gemini"
	rules := catalogue(t)
	for _, c := range []struct{ name, provider, body string }{
		{"server-side MCP: call and response in one model content", gemini,
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"EjQK"},{"functionResponse":{"name":"a","response":{}}},{"text":"done"}]},{"role":"user","parts":[{"text":"go on"}]}]}`},
		{"an empty text of the user before a call", gemini,
			`{"contents":[{"role":"user","parts":[{"text":""}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"EjQK"}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`},
		{"an id on the response alone", gemini,
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"EjQK"}]},{"role":"user","parts":[{"functionResponse":{"name":"a","id":"x","response":{}}}]}]}`},
		{"function responses in the role of Google's earlier SDKs", gemini,
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"EjQK"}]},{"role":"function","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`},
		{"an output answers a tool search call", "openai",
			`{"model":"gpt-5.4","input":[{"role":"user","content":"hi"},{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{},"status":"completed"},{"type":"function_call_output","call_id":"c","output":"a"}]}`},
		{"an assistant speaks first", "anthropic",
			`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"assistant","content":"Hello."},{"role":"user","content":"hi"}]}`},
	} {
		x := asked(0, c.provider, c.body, 0, "")
		ev := recording(x).Evidence()
		for _, res := range report.Judge(rules, &ev) {
			if len(res.Findings) > 0 {
				t.Errorf("%s: %s: %s", c.name, res.Check, res.Findings[0].Message)
			}
		}
	}
}

// TestMalformedCallsRun: a call that arrived malformed is answered by words of failure,
// where the API has no mark for it.
func TestMalformedCallsRun(t *testing.T) {
	for output, found := range map[string]bool{"12 files": true, "error: the arguments are not JSON": false} {
		ask := `{"model":"gpt-5.2","input":[{"role":"user","content":"hi"}]}`
		reply := `{"id":"resp_1","status":"completed","output":[{"id":"fc_1","type":"function_call","status":"completed","call_id":"c1","name":"ls","arguments":"{\"path\": "}]}`
		next := `{"model":"gpt-5.2","input":[{"role":"user","content":"hi"},{"id":"fc_1","type":"function_call","call_id":"c1","name":"ls","arguments":"{\"path\": "},{"type":"function_call_output","call_id":"c1","output":"` + output + `"}]}`
		tr := recording(asked(0, "openai", ask, 200, reply),
			asked(1, "openai", next, 200, `{"status":"completed","output":[]}`))
		if res := find(t, "STR-009/not-executed").Run(tr); res.Observed != 1 || (len(res.Findings) > 0) != found {
			t.Errorf("%s: %+v", output, res)
		}
	}
	stop := `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`
	for response, found := range map[string]bool{`{"output":"12 files"}`: true, `{"error":"not a call"}`: false} {
		next := `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":` + response + `}}]}]}`
		tr := recording(asked(0, "gemini", minimal["gemini"], 200, stop), asked(1, "gemini", next, 200, stop))
		if res := find(t, "STR-009/not-executed").Run(tr); res.Observed != 1 || (len(res.Findings) > 0) != found {
			t.Errorf("%s: %+v", response, res)
		}
	}
}

// TestMalformedCallIsReplaced: an agent may put a tool of its own in the place of a call
// that it cannot read, as the AI SDK's repair does. Words of success under another name
// are still a call that ran.
func TestMalformedCallIsReplaced(t *testing.T) {
	reply := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","stop_reason":"max_tokens","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":"{\"path\": "}]}`
	for _, c := range []struct {
		name, output string
		found        bool
	}{{"invalid", "The arguments provided to the tool are invalid", false}, {"invalid", "12 files", true},
		{"ls", "The arguments are invalid", true}} {
		next := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"` + c.name + `","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"` + c.output + `"}]}]}`
		tr := recording(asked(0, "anthropic", minimal["anthropic"], 200, reply),
			asked(1, "anthropic", next, 200, reply))
		if res := find(t, "STR-009/not-executed").Run(tr); res.Observed != 1 || (len(res.Findings) > 0) != c.found {
			t.Errorf("%+v: %+v", c, res)
		}
	}
}

// TestStoredReasoning: a stored reasoning item is found by what follows it, so that a
// message without its id is refused (O-12); without storage nothing is looked up.
func TestStoredReasoning(t *testing.T) {
	body := `{"model":"gpt-5.2","STORE"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]ID},{"role":"user","content":"go on"}]}`
	for _, c := range []struct {
		store, id string
		found     bool
	}{{"", "", true}, {`store":true,"`, "", true}, {"", `,"id":"msg_1"`, false}, {`store":false,"`, "", false}} {
		text := strings.NewReplacer("STORE", c.store, "ID", c.id).Replace(body)
		text = strings.Replace(text, `""input`, `"input`, 1)
		res := find(t, "SIG-009/followed").Run(recording(asked(0, "openai", text, 0, "")))
		if res.Observed != 1 || (len(res.Findings) > 0) != c.found || c.found && res.Findings[0].Rule != "O-12" {
			t.Errorf("%s %s: %+v", c.store, c.id, res)
		}
	}
}

// TestThinkingSwitchedOn: a tool loop that began without thinking cannot go on with a thinking budget
// . A model that was asked to think and did not may go on.
func TestThinkingSwitchedOn(t *testing.T) {
	const reply = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","stop_reason":"tool_use","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]}`
	request := func(thinking, more string) string {
		return `{"model":"claude-opus-4-5","max_tokens":9000,` + thinking +
			`"messages":[{"role":"user","content":"hi"}` + more + `]}`
	}
	const on = `"thinking":{"type":"enabled","budget_tokens":2048},`
	const results = `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"}]}`
	for _, c := range []struct {
		before, now string
		found       int
	}{{"", on, 1}, {"", "", 0}, {on, on, 0}, {on, "", 0}} {
		tr := recording(asked(0, "anthropic", request(c.before, ""), 200, reply),
			asked(1, "anthropic", request(c.now, results), 0, ""))
		if res := find(t, "SIG-004/leads").Run(tr); len(res.Findings) != c.found {
			t.Errorf("%q, then %q: %+v", c.before, c.now, res.Findings)
		}
	}
}

// TestRefusedAllTheSame: the server has the last word. A breach that is a habit of the vendor's own
// client elsewhere, such as lone reasoning with store false, is refused where the words of its
// rule refused this request.
func TestRefusedAllTheSame(t *testing.T) {
	const body = `{"model":"gpt-5.2","store":false,"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":"go on"}]}`
	for words, want := range map[string]specs.Consequence{
		"Item 'rs_1' of type 'reasoning' was provided without its required following item.": specs.Refused,
		"Unknown parameter: 'no'.": specs.Degraded,
	} {
		res := find(t, "SIG-009/followed").Run(recording(asked(0, "openai", body, 400,
			`{"error":{"message":"`+words+`","type":"invalid_request_error"}}`)))
		if len(res.Findings) != 1 || res.Findings[0].Consequence != want {
			t.Errorf("%s: %+v", words, res.Findings)
		}
	}
}

// TestReasoningAskedFor: reasoning of a tool loop that the client neither asked for nor left
// with the provider is lost, and so is what is stored and not named. What was asked for and
// did not come cannot be sent back.
func TestReasoningAskedFor(t *testing.T) {
	const call = `{"id":"fc_1","type":"function_call","call_id":"c1","name":"ls","arguments":"{}"}`
	const item = `{"id":"rs_1","type":"reasoning","summary":[]}`
	const output = `{"type":"function_call_output","call_id":"c1","output":"a"}`
	const history = `"input":[{"role":"user","content":"hi"},` + call + `,` + output + `]`
	for _, c := range []struct {
		name, settings, reply, next string
		tokens                      int
		words                       string // of the finding, "" for none
	}{
		{"neither asked for nor stored", `"store":false`, call, history, 21,
			"its reasoning was not asked for and is not sent back"},
		{"an item without its content", `"store":false`, item + "," + call, history, 21,
			"its reasoning was not asked for and is not sent back"},
		{"stored by default", `"truncation":"auto"`, call, history, 21,
			"its reasoning is stored with the provider, and the request neither sends nor names it"},
		{"stored", `"store":true`, item + "," + call, history, 21,
			"its reasoning is stored with the provider, and the request neither sends nor names it"},
		{"asked for and not given", `"store":false,"include":["reasoning.encrypted_content"]`, call, history, 21, ""},
		{"asked for and not given, stored", `"include":["web_search_call.results","reasoning.encrypted_content"]`, call,
			history, 21, ""},
		{"something else asked for", `"store":false,"include":["web_search_call.results"]`, call, history, 21,
			"its reasoning was not asked for and is not sent back"},
		{"the model did not reason", `"store":false`, call, history, 0, ""},
		{"the provider keeps it", `"store":true`, call,
			`"previous_response_id":"resp_1","input":[` + output + `]`, 21, ""},
		{"stored and named", `"store":true`, item + "," + call,
			`"input":[{"role":"user","content":"hi"},` + item + "," + call + "," + output + `]`, 21, ""},
	} {
		request := func(rest string) string { return `{"model":"gpt-5.2",` + c.settings + "," + rest + "}" }
		reply := fmt.Sprintf(`{"id":"resp_1","status":"completed","output":[%s],"usage":{"output_tokens_details":{"reasoning_tokens":%d}}}`, c.reply, c.tokens)
		tr := recording(asked(0, "openai", request(`"input":[{"role":"user","content":"hi"}]`), 200, reply),
			asked(1, "openai", request(c.next), 200, `{"status":"completed","output":[]}`))
		found := find(t, "SIG-012/asked-for").Run(tr).Findings
		if len(found) > 0 != (c.words != "") || len(found) > 0 && !strings.Contains(found[0].Message, c.words) {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}
