package simulator

import (
	"encoding/json"
	"strings"
	"testing"
)

// OpenAI searches for a deferred tool before it calls it, once in a conversation, and the
// call names the tool's namespace (O-32). A client's own search is left to the client.
func TestDeferredToolsOfOpenAI(t *testing.T) {
	const late = `{"type":"function","name":"conform_echo","parameters":{"type":"object","properties":{"text":{"type":"string"}}},"strict":false,"defer_loading":true}`
	const ask = `{"role":"user","content":"Call conform_echo with hi."}`
	h := New(Config{})
	send := func(search, input string) (int, string) {
		w := answer(t, h, "POST", "/openai/v1/responses",
			`{"model":"gpt-5.5","store":false,"include":["reasoning.encrypted_content"],"tools":[`+search+`,`+late+
				`],"input":[`+input+`]}`)
		return w.Code, w.Body.String()
	}
	status, first := send(`{"type":"tool_search"}`, ask)
	var reply struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(first), &reply); status != 200 || err != nil {
		t.Fatalf("%d %v %s", status, err, first)
	}
	kinds, items, callID := "", "", ""
	for _, raw := range reply.Output {
		var item struct {
			Type, Namespace string
			CallID          string `json:"call_id"`
		}
		if json.Unmarshal(raw, &item) != nil {
			t.Fatal(string(raw))
		}
		kinds, items, callID = kinds+item.Type+item.Namespace+" ", items+","+string(raw), item.CallID
	}
	if !strings.HasSuffix(kinds, "tool_search_call tool_search_output function_callconform_echo ") {
		t.Fatalf("%s in %s", kinds, first)
	}
	again := ask + items + `,{"type":"function_call_output","call_id":"` + callID +
		`","output":"hi"},{"role":"assistant","content":"Done."},{"role":"user","content":"Call conform_echo with ho."}`
	if status, body := send(`{"type":"tool_search"}`, again); status != 200 ||
		strings.Count(body, `"type":"function_call"`) != 1 || strings.Contains(body, `"tool_search_call"`) {
		t.Errorf("what is loaded is searched for again: %d %s", status, body)
	}
	if status, body := send(`{"type":"tool_search"}`,
		strings.Replace(again, `"namespace":"conform_echo"`, `"namespace":""`, 1)); status != 400 ||
		!strings.Contains(body, "Missing namespace for function_call 'conform_echo'.") {
		t.Errorf("no namespace: %d %s", status, body)
	}
}
