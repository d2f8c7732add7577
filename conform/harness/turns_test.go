package harness

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// A request that ends in the model's own words asks for no turn, and the reason says so.
func TestWhyNotAsked(t *testing.T) {
	for last, want := range map[string]string{
		`{"role":"user","content":"go on"}`:                                     "did not go on with the conversation",
		`{"role":"assistant","content":[{"type":"text","text":""}]}`:            "is an empty message of the model",
		`{"role":"assistant","content":[{"type":"text","text":"Once upon a"}]}`: "is a message of the model",
	} {
		played := findCase(t, "thinking-tool-loop/anthropic")
		kept := newCapture(Permutation{Case: played, Source: evidence.SourceSimulator}, "one", About{})
		kept.observe(cassette.Interaction{Request: cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Body: []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},` + last + `]}`)}}, false)
		if got := kept.turnDeviation(0, 0); !strings.Contains(got, want) {
			t.Errorf("%s: %q", last, got)
		}
	}
}
