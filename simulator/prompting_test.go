package simulator

import (
	"bytes"
	"testing"
)

// A client that puts a reminder behind each result, or prompts itself again and
// again, gets an end.
func TestSelfPromptingIsBounded(t *testing.T) {
	const call, result = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]}`,
		`{"type":"tool_result","tool_use_id":"toolu_1","content":"a heron"}`
	request := func(messages string) string {
		return `{"model":"claude-opus-4-6","max_tokens":99,"tools":[{"name":"look","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"What is there?"},` + messages + `]}`
	}
	rounds := func(n int) (messages string) {
		for range n {
			messages += call + `,{"role":"user","content":[` + result +
				`]},{"role":"assistant","content":"Done."},{"role":"user","content":"Go on."},`
		}
		return messages[:len(messages)-1]
	}
	for name, c := range map[string]struct {
		messages string
		calls    bool
	}{
		"a reminder beside the result": {call + `,{"role":"user","content":[` + result +
			`,{"type":"text","text":"<system-reminder>Look again.</system-reminder>"}]}`, false},
		"a reminder behind the result": {call + `,{"role":"user","content":[` + result +
			`]},{"role":"user","content":"<system-reminder>Look again.</system-reminder>"}`, false},
		"the prompt again": {call + `,{"role":"user","content":[` + result +
			`]},{"role":"user","content":"What is there?"}`, false},
		"a prompt behind the result": {call + `,{"role":"user","content":[` + result +
			`]},{"role":"user","content":"Call look again."}`, true},
		"a second prompt":                   {rounds(1), true},
		"the eleventh prompt that it wrote": {rounds(10), false},
	} {
		w := answer(t, New(Config{Off: []string{"A-18", "A-38"}}), "POST", "/anthropic/v1/messages",
			request(c.messages))
		if got := bytes.Contains(w.Body.Bytes(), []byte(`"stop_reason":"tool_use"`)); w.Code != 200 || got != c.calls {
			t.Errorf("%s: %d, calls a tool: %t\n%s", name, w.Code, got, w.Body)
		}
	}
}
