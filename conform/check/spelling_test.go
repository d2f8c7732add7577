package check

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

// TestSpellings: Gemini reads its own names in two spellings; those of a client's
// arguments and schemas, and all names of other providers, are what they are.
func TestSpellings(t *testing.T) {
	for _, c := range []struct {
		provider, a, b string
		same           bool
	}{
		{evidence.Gemini, `{"functionResponse":{"name":"f","response":{"a":1}}}`,
			`{"function_response":{"name":"f","response":{"a":1}}}`, true},
		{evidence.Gemini, `{"name":"f","parametersJsonSchema":{"type":"object"}}`,
			`{"name":"f","parameters_json_schema":{"type":"object"}}`, true},
		{evidence.Gemini, `{"functionCall":{"args":{"fileName":1}}}`,
			`{"function_call":{"args":{"file_name":1}}}`, false},
		{evidence.Gemini, `{"inlineData":{"mimeType":"a"}}`, `{"inline_data":{"mime_type":"b"}}`, false},
		{evidence.Anthropic, `{"tool_use_id":"a"}`, `{"toolUseId":"a"}`, false},
	} {
		a, errA := tree.Parse([]byte(c.a))
		b, errB := tree.Parse([]byte(c.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if path, what := diffMembers(c.provider, a, b); (path == "=") != c.same {
			t.Errorf("%s / %s: %s %s", c.a, c.b, path, what)
		}
	}
}
