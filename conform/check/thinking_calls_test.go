package check_test

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// TestThinkingCalls: calls are counted by whether they ask the model to think. A model that
// thinks by itself, or that cannot think, shows nothing either way.
func TestThinkingCalls(t *testing.T) {
	for _, c := range []struct {
		request      string
		asked, plain int
	}{
		{`{"model":"claude-opus-4-6","max_tokens":9,"thinking":{"type":"adaptive"},MSG}`, 1, 0},
		{`{"model":"claude-opus-4-6","max_tokens":9,MSG}`, 0, 1},
		{`{"model":"claude-opus-4-6","max_tokens":9,"thinking":{"type":"disabled"},MSG}`, 0, 1},
		{`{"model":"claude-opus-5-5","max_tokens":9,MSG}`, 0, 0},
		{`{"model":"gpt-5.2","reasoning":{"effort":"low"},"input":"hi"}`, 1, 0},
		{`{"model":"gpt-5.2","reasoning":{"effort":"none"},"input":"hi"}`, 0, 1},
		{`{"model":"gpt-5.6","input":"hi"}`, 0, 0},
		{`{"model":"gpt-4.1","input":"hi"}`, 0, 0},
		{`MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}]}`, 0, 0},
	} {
		x, _ := parameterExchange(c.request)
		if asked, plain := check.Decode(&evidence.Evidence{Exchanges: []evidence.Exchange{x}}).ThinkingCalls(); asked != c.asked || plain != c.plain {
			t.Errorf("%s: %d asked and %d plain calls, want %d and %d", c.request, asked, plain, c.asked, c.plain)
		}
	}
}
