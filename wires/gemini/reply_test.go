package gemini

import (
	"testing"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// TestOddStreams holds the replies that only Gemini gives.
func TestOddStreams(t *testing.T) {
	answer := []script.Block{{Kind: specs.KindText, Text: "Well."}}
	cut := []script.Block{{Kind: specs.KindText, Text: "I call."},
		{Kind: specs.KindCall, Name: "f", Args: []byte(`{"te`), Partial: true}}
	for _, c := range []struct {
		name    string
		turn    specs.Turn
		stop    specs.Stop
		blocks  []script.Block
		reasons []string // of each chunk; "-" is one without candidates
	}{
		{"plain", specs.Turn{}, "", answer, []string{"", "STOP"}},
		{"leading STOP", specs.Turn{Grease: []specs.Grease{specs.GreaseStop}}, "", answer,
			[]string{"STOP", "", "STOP"}},
		{"usage at the end", specs.Turn{Grease: []specs.Grease{specs.GreaseUsage}}, "", answer,
			[]string{"", "STOP", "-"}},
		{"refusal", specs.Turn{}, specs.StopRefusal, answer, []string{"", "SAFETY"}},
		{"cut in a call", specs.Turn{}, specs.StopMaxTokens, cut, []string{"", "MAX_TOKENS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := script.Reply{Request: script.Request{Model: "gemini-3.5-flash", Form: script.FormSSE,
				Body: []byte(hello)},
				Turn: c.turn, Blocks: c.blocks, Stop: c.stop, Key: testKey, At: time.Unix(0, 0)}
			frames := Provider{}.Frames(r)
			if len(frames) != len(c.reasons) {
				t.Fatalf("%d chunks, want %d: %s", len(frames), len(c.reasons), frames)
			}
			for i, frame := range frames {
				n, fault := parseBody(frame[len("data: "):])
				if fault != "" {
					t.Fatal(fault)
				}
				reason := "-"
				if list := elementsOf(n.Given("candidates")); list != nil {
					reason = list[0].Given("finishReason").Text()
				}
				if reason != c.reasons[i] || n.Given("usageMetadata") == nil || n.Given("responseId") == nil {
					t.Errorf("chunk %d: %s, want the reason %q", i, frame, c.reasons[i])
				}
			}
		})
	}
}
