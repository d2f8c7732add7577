package simulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestSplitCalls: a client that answers the calls of one reply one by one, each in a turn of
// its own, gets the turn that follows the reply.
func TestSplitCalls(t *testing.T) {
	scenario, err := specs.ParseScenario("two.txtar", []byte(`Two calls at once.
requirements: ORD-001
-- scenario.yaml --
title: two calls
providers:
  anthropic: {model: claude-opus-4-5}
  openai: {model: gpt-5.2}
  gemini: {model: gemini-2.5-flash}
player:
  - prompt: Call both.
turns:
  - emit:
      - call: {role: echo, args: '{"text": "a"}'}
      - call: {role: echo, args: '{"text": "b"}'}
  - emit: [{text: Both came back.}]
`))
	if err != nil {
		t.Fatal(err)
	}
	mark := scenario.Lenient().PromptMark(0, "two")
	for _, c := range []struct{ provider, path, body string }{
		{"anthropic", "/v1/messages",
			`{"model":"claude-opus-4-5","max_tokens":99,"tools":[{"name":"echo","input_schema":{"type":"object","properties":{"text":{"type":"string"}}}}],"messages":[{"role":"user","content":"MARK"},
			{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01","name":"echo","input":{"text":"a"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"a"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"toolu_02","name":"echo","input":{"text":"b"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_02","content":"b"}]}]}`},
		{"openai", "/v1/responses",
			`{"model":"gpt-5.2","tools":[{"type":"function","name":"echo","parameters":{"type":"object","properties":{"text":{"type":"string"}}}}],"input":[{"role":"user","content":"MARK"},
			{"type":"function_call","call_id":"call_1","name":"echo","arguments":"{\"text\":\"a\"}"},{"type":"function_call_output","call_id":"call_1","output":"a"},
			{"type":"function_call","call_id":"call_2","name":"echo","arguments":"{\"text\":\"b\"}"},{"type":"function_call_output","call_id":"call_2","output":"b"}]}`},
		{"gemini", "/v1beta/models/gemini-2.5-flash:generateContent",
			`{"tools":[{"functionDeclarations":[{"name":"echo","parameters":{"type":"OBJECT","properties":{"text":{"type":"STRING"}}}}]}],"contents":[{"role":"user","parts":[{"text":"MARK"}]},
			{"role":"model","parts":[{"text":"I call.","thought":true}]},{"role":"model","parts":[{"functionCall":{"name":"echo","args":{"text":"a"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"echo","response":{"output":"a"}}}]},
			{"role":"model","parts":[{"functionCall":{"name":"echo","args":{"text":"b"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"echo","response":{"output":"b"}}}]}]}`},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path,
			strings.NewReader(strings.Replace(c.body, "MARK", "Call both. "+mark, 1)))
		r.Header = http.Header{"X-Api-Key": {"test"}, "Authorization": {"Bearer test"}, "X-Goog-Api-Key": {"test"},
			"Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
		w := httptest.NewRecorder()
		New(Config{Scenario: scenario.Lenient(), Seed: "two"}).ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Both came back.") {
			t.Errorf("%s: status %d %s", c.provider, w.Code, w.Body)
		}
	}
}
