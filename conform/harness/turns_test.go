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
		kept.observe(cassette.Interaction{Request: cassette.Request{Method: "POST",
			URL:  "https://api.anthropic.com/v1/messages",
			Body: []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},` + last + `]}`)}},
			false)
		if got := kept.turnDeviation(0, 0); !strings.Contains(got, want) {
			t.Errorf("%s: %q", last, got)
		}
	}
}

// An agent may give up in a step that may fail, when it says so by its exit code, and after a
// call that cannot be read. Before its first turn it may not.
func TestMayGiveUp(t *testing.T) {
	for _, c := range []struct {
		name     string
		sent     int // turns that the agent asked for
		exitCode int
		want     string
	}{
		{"turn-limit/anthropic", 3, 1, ""},
		{"turn-limit/anthropic", 3, 0, "step 0 never asked for turn 4"},
		{"turn-limit/anthropic", 0, 1, "step 0 never asked for turn 1"},
		{"thinking-tool-loop/anthropic", 1, 1, "step 0 never asked for turn 2"},
		{"unreadable-call/gemini", 1, 0, ""},
		{"unreadable-call/gemini", 1, 1, ""},
		{"unreadable-call/gemini", 0, 0, "step 0 never asked for turn 1"},
	} {
		kept := newCapture(Permutation{Case: findCase(t, c.name), Source: evidence.SourceSimulator}, "one", About{})
		kept.Case.Scenario = kept.Case.Scenario.Lenient()
		for _, turn := range kept.Case.Scenario.Turns[:c.sent] {
			kept.sentTurns[turn.Line] = true
		}
		if got := kept.turnDeviation(0, c.exitCode); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s after %d turns, exit %d: %q, want %q", c.name, c.sent, c.exitCode, got, c.want)
		}
	}
}
