package check_test

import "testing"

// TestNamespaces: a call of another provider's model names no namespace, so its tool has to
// be in the default one, found already or not.
func TestNamespaces(t *testing.T) {
	request := func(tool, call string) string {
		return `{"model":"gpt-5.4","tools":[{"type":"tool_search"},{"type":"function","name":"rate","parameters":{"type":"object","properties":{}}` + tool + `}],` +
			`"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","name":"rate","arguments":"{}"` + call + `},{"type":"function_call_output","call_id":"call_1","output":"1"}]}`
	}
	testRequests(t, "NSP-005", []singleRequest{
		{"NSP-005/named", "O-32", "input[1]", request(`,"defer_loading":true`, "")},
		{"NSP-005/named", "", "", request(`,"defer_loading":true`, `,"namespace":"rate"`)},
		{"NSP-005/named", "", "", request("", "")},
	})
}
