package main

import (
	"bytes"
	"testing"

	"github.com/meerkat-go/conformance/schemas"
)

// TestSchemasFollowMembers holds that the schemas of requests say what the wires describe.
func TestSchemasFollowMembers(t *testing.T) {
	for name, want := range requestSchemas() {
		is, err := schemas.Source(schemas.Name(name))
		if err != nil || !bytes.Equal(is, want) {
			t.Errorf("schemas/%s.json is out of date (%v); run go run ./internal/generate schemas", name, err)
		}
	}
}

// TestRequestSchemas says of single requests what the generated schemas hold against them.
func TestRequestSchemas(t *testing.T) {
	for _, c := range []struct{ schema, body, want string }{
		{"anthropic.request",
			`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"new":1}`,
			""},
		{"anthropic.request", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text"}]}]}`,
			"messages[0].content[0]: text is required"},
		{"anthropic.request", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":["hi"]}]}`,
			"messages[0].content[0]: Invalid type"},
		{"anthropic.request", `{"model":"m","max_tokens":1,"messages":[],"tools":[{"name":"a"}]}`,
			"tools[0]: input_schema is required"},
		{"anthropic.request",
			`{"model":"m","max_tokens":1,"messages":[],"tools":[{"type":"bash_20250124","name":"bash"}]}`, ""},
		{"openai.request",
			`{"model":"m","input":[{"role":"user","content":"hi"},{"id":"rs_1"}],"tool_choice":{"type":"function","name":"a"}}`, ""},
		{"openai.request", `{"model":"m","input":[{"role":"assistant","content":[{"type":"output_text"}]}]}`,
			"input[0].content[0]: text is required"},
		{"openai.request", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","detail":"some"}]}]}`,
			"input[0].content[0].detail"},
		{"openai.request", `{"model":"m","input":[{"role":"user"}]}`, "input[0]: content is required"},
		{"openai.request", `{"model":"m","tool_choice":"some"}`, "tool_choice"},
		{"gemini.request",
			`{"contents":[],"generationConfig":{"maxOutputTokens":"5","topP":null,"thinkingConfig":{"thinkingLevel":"low"}}}`, ""},
		{"gemini.request", `{"contents":[],"generationConfig":{"maxOutputTokens":"many"}}`,
			"generationConfig.maxOutputTokens"},
		{"gemini.request", `{"contents":[{"parts":[{"functionCall":{}}]}]}`,
			"contents[0].parts[0].functionCall: name is required"},
		{"chat.request", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"top_k":1}`,
			""},
		{"chat.request", `{"model":"m","messages":[{"role":"user"}]}`, "messages[0]: content is required"},
		{"chat.request", `{"model":"m","messages":[{"role":"tool","content":"4"}]}`,
			"messages[0]: tool_call_id is required"},
		{"chat.request", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function"}]}]}`,
			"tool_calls[0]: function is required"},
		{"chat.request", `{"model":"m","messages":[],"temperature":3}`, "temperature"},
	} {
		err := schemas.Validate(schemas.Name(c.schema), []byte(c.body))
		if said := ""; err != nil || c.want != "" {
			if err != nil {
				said = err.Error()
			}
			if c.want == "" || !bytes.Contains([]byte(said), []byte(c.want)) {
				t.Errorf("%s\n got %q\nwant %q", c.body, said, c.want)
			}
		}
	}
}
