package openai

import (
	"testing"
)

func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                              false,
		`{"type":"object","properties":{"a":{},"b":{}},"required":["a"],"additionalProperties":false}`:         false,
		`{"type":"object","properties":{},"additionalProperties":false}`:                                       true,
		`{"type":"object"}`: false,
		`{"type":"string"}`: true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`: false,
		`not JSON`: false,
	} {
		if got := isStrictSchema([]byte(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
