package wire_test

import (
	"testing"

	"github.com/meerkat-go/conformance/wires/wire"
)

func TestReadRequest(t *testing.T) {
	const (
		messages  = "https://api.anthropic.com/v1/messages"
		responses = "https://api.openai.com/v1/responses"
		gemini    = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:"
	)
	for _, c := range []struct {
		name, provider, url, body string
		op                        wire.Op
		model, items              string
	}{
		{"strings", "anthropic", messages,
			`{"model":"m","system":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"S"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"image"}]}]}`,
			wire.Generate, "m", `text "hi"; thinking "" S; tool call "{\"a\":1}" t f; tool result "" t; media ""`},
		{"count tokens", "anthropic", messages + "/count_tokens", `{"model":"m","messages":[]}`, wire.OtherOp, "m", ``},
		{"vertex", "anthropic", "https://x/publishers/anthropic/models/claude:streamRawPredict", `{"messages":[]}`,
			wire.Generate, "", ``},
		{"no JSON", "anthropic", messages, `{"model`, wire.Generate, "", ``},
		{"items", "openai", responses,
			`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning","id":"rs_1","encrypted_content":"E","summary":[]},{"type":"custom_tool_call","call_id":"c","name":"f","input":"raw"},{"type":"custom_tool_call_output","call_id":"c","output":"x"},{"type":"web_search_call","id":"ws_1"}]}`,
			wire.Generate, "m", `text "a"; thinking "" rs_1 E; tool call "raw" c f; tool result "" c; block "" ws_1`},
		{"string input", "openai", responses, `{"model":"m","input":"hi"}`, wire.Generate, "m", `text "hi"`},
		{"compact", "openai", responses + "/compact", `{"model":"m","input":"hi"}`, wire.OtherOp, "m", `text "hi"`},
		{"parts", "gemini", gemini + "streamGenerateContent?alt=sse",
			`{"contents":[{"parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"function_call":{"name":"f","args":{}},"thought_signature":"U0lH"}]},{"role":"user","parts":{"functionResponse":{"name":"f","response":{}}}}]}`,
			wire.Generate, "gemini-3-flash-preview", `text "ab"; tool call "{}" f U0lH; tool result "" f`},
		{"one content", "gemini", gemini + "generateContent", `{"contents":{"parts":{"text":"a"}}}`, wire.Generate,
			"gemini-3-flash-preview", `text "a"`},
		{"count", "gemini", gemini + "countTokens", `{}`, wire.OtherOp, "gemini-3-flash-preview", ``},
	} {
		q := wire.ReadRequest(c.provider, "POST", c.url, []byte(c.body))
		if q.Op != c.op || q.Model != c.model || line(q.Items) != c.items {
			t.Errorf("%s %s: op %d model %q\n got %s\nwant %s", c.provider, c.name, q.Op, q.Model,
				line(q.Items), c.items)
		}
	}
}

func TestRoles(t *testing.T) {
	q := wire.ReadRequest("openai", "POST", "https://api.openai.com/v1/responses",
		[]byte(`{"input":[{"role":"developer","content":"a"},{"type":"function_call"},{"type":"shell_call_output"},{"type":"mcp_call"},{"role":"assistant","content":"b"}]}`))
	got := ""
	for _, it := range q.Items {
		got += it.Role + " "
	}
	if got != "developer assistant user assistant assistant " {
		t.Error(got)
	}
	if !q.Items[1].Model() || q.Items[2].Model() {
		t.Error("who made what is mixed up")
	}
}

func FuzzReadRequest(f *testing.F) {
	for _, p := range []string{"anthropic", "openai", "gemini"} {
		f.Add(p, "https://api.openai.com/v1/responses",
			[]byte(`{"input":[{}],"messages":[{"content":[{}]}],"contents":[{"parts":[{"functionCall":{}}]}]}`))
	}
	f.Fuzz(func(t *testing.T, provider, url string, body []byte) {
		q := wire.ReadRequest(provider, "POST", url, body)
		for i, it := range q.Items {
			if it.Msg < 0 || it.Msg >= len(q.Msgs) || it.Place.Off < 0 || it.Place.Off > len(body) {
				t.Fatalf("item %d is of message %d of %d, at byte %d", i, it.Msg, len(q.Msgs), it.Place.Off)
			}
		}
	})
}
