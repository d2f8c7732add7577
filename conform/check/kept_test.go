package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// keptCall is the reply whose call the next request of TestKeptCalls answers or leaves open.
const keptCall = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"ls","arguments":"{}"}`

// answer is an output for the call of keptCall.
const answer = `{"type":"function_call_output","call_id":"call_1","output":"a.txt"}`

const words = `{"role":"user","content":"go on"}`

// keptTurn is an exchange with OpenAI about input, with more members in its request.
func keptTurn(i int, more, input, id, output string) evidence.Exchange {
	return asked(i, evidence.OpenAI, `{"model":"gpt-4.1",`+more+`"input":[`+input+`]}`, 200,
		`{"id":"`+id+`","status":"completed","output":[`+output+`]}`)
}

// TestKeptCalls: a call that the provider keeps is answered by the request that goes on with
// it, and an output there answers a call that is kept.
func TestKeptCalls(t *testing.T) {
	const answered, orphan, after = "ORD-001/answered", "ORD-003/no-orphan", `"previous_response_id":"resp_1",`
	first := func(more, output string) evidence.Exchange { return keptTurn(0, more, words, "resp_1", output) }
	next := func(more, input string) evidence.Exchange { return keptTurn(1, more, input, "resp_2", "") }
	kept := func(item string) []evidence.Exchange {
		return []evidence.Exchange{first("", item), next(after, words)}
	}
	lost := first("", keptCall)
	lost.Response.Body = lost.Response.Body[:20]
	other := strings.ReplaceAll(answer, "call_1", "call_9")
	inConversation := `"conversation":"conv_1",`
	added := asked(1, evidence.OpenAI, `{"items":[`+answer+`]}`, 200, `{"object":"list","data":[]}`)
	added.Request.URL = "https://api.openai.com/v1/conversations/conv_1/items"
	for name, tt := range map[string]struct {
		check, want string // part of the message
		list        []evidence.Exchange
	}{
		"left open": {answered, "tool call ls call_1 is open", kept(keptCall)},
		"answered":  {answered, "", []evidence.Exchange{first("", keptCall), next(after, answer)}},
		"another is answered": {answered, "tool call ls call_1 is open",
			[]evidence.Exchange{first("", keptCall), next(after, other)}},
		"answered in between": {answered, "", []evidence.Exchange{first("", keptCall), next(after, answer),
			keptTurn(2, `"previous_response_id":"resp_2",`, words, "resp_3", "")}},
		"open two turns ago": {answered, "exchange 0", []evidence.Exchange{first("", keptCall), next(after, other),
			keptTurn(2, `"previous_response_id":"resp_2",`, words, "resp_3", "")}},
		"of an unknown response": {answered, "",
			[]evidence.Exchange{first("", keptCall), next(`"previous_response_id":"resp_9",`, words)}},
		"of a reply that was cut": {answered, "", []evidence.Exchange{lost, next(after, words)}},
		"of one not stored": {answered, "",
			[]evidence.Exchange{first(`"store":false,`, keptCall), next(after, words)}},
		"beside a reference": {answered, "",
			[]evidence.Exchange{first("", keptCall), next(after, `{"type":"item_reference","id":"fc_7"}`)}},
		"of a conversation": {answered, "is open",
			[]evidence.Exchange{first(inConversation, keptCall), next(inConversation, words)}},
		"of another conversation": {answered, "",
			[]evidence.Exchange{first(inConversation, keptCall), next(`"conversation":"conv_2",`, words)}},
		"added to a conversation": {answered, "", []evidence.Exchange{first(inConversation, keptCall), added,
			keptTurn(2, inConversation, words, "resp_2", "")}},
		"custom tool": {answered, "tool call sh call_1",
			kept(`{"type":"custom_tool_call","call_id":"call_1","name":"sh","input":""}`)},
		"computer": {answered, "computer_call call_1",
			kept(`{"type":"computer_call","id":"cu_1","call_id":"call_1","action":{"type":"screenshot"}}`)},
		"local shell": {answered, "local_shell_call call_1",
			kept(`{"type":"local_shell_call","call_id":"call_1","action":{}}`)},
		"shell": {answered, "shell_call call_1",
			kept(`{"type":"shell_call","call_id":"call_1","action":{},"environment":{"type":"local"}}`)},
		"shell of the provider": {answered, "",
			kept(`{"type":"shell_call","call_id":"call_1","action":{},"environment":{"type":"container_reference"}}`)},
		"patch": {answered, "apply_patch_call call_1",
			kept(`{"type":"apply_patch_call","call_id":"call_1","operation":{}}`)},
		"search of the client": {answered, "tool_search_call call_1",
			kept(`{"type":"tool_search_call","call_id":"call_1","execution":"client","arguments":{}}`)},
		"search of the provider": {answered, "",
			kept(`{"type":"tool_search_call","call_id":"call_1","execution":"server","arguments":{}}`)},
		"asynchronous": {answered, "", kept(strings.Replace(keptCall, `"name"`, `"async":true,"name"`, 1))},
		"whole, a computer": {answered, "computer_call call_1 has no output",
			[]evidence.Exchange{next("", `{"type":"computer_call","call_id":"call_1"},`+words)}},
		"whole, and its output": {answered, "",
			[]evidence.Exchange{next("",
				`{"type":"computer_call","call_id":"call_1"},{"type":"computer_call_output","call_id":"call_1","output":{}}`)}},
		"output of no call": {orphan, "output call_9 answers no call",
			[]evidence.Exchange{first("", keptCall), next(after, answer+`,`+other)}},
		"output of the call": {orphan, "", []evidence.Exchange{first("", keptCall), next(after, answer)}},
		"perhaps of a call": {orphan, "",
			[]evidence.Exchange{first(`"previous_response_id":"resp_0",`, keptCall), next(after, other)}},
		"whole, output of none": {orphan, "output call_1 answers no call",
			[]evidence.Exchange{next("", words+`,{"type":"shell_call_output","call_id":"call_1","output":[]}`)}},
	} {
		res := find(t, tt.check).Run(recording(tt.list...))
		if (len(res.Findings) > 0) != (tt.want != "") ||
			tt.want != "" && !strings.Contains(res.Findings[0].Message, tt.want) {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}
