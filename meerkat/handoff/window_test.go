package handoff

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// A provider's window takes the place of what was compacted, whole and first, where it
// was made. Another provider, and its own after it has refused a token, gets what the
// window stands for. Nothing is lost, so nothing is reported.
func TestWindow(t *testing.T) {
	made := func(kind, raw string) transcript.Block {
		return transcript.Block{
			Type: transcript.BlockOpaque, Kind: kind, Raw: []byte(raw), Origin: target(t, gpt).Origin(),
		}
	}
	window := transcript.Assistant(
		transcript.StopCompaction, made("message", `{"type":"message","role":"user"}`),
		made("compaction", `{"type":"compaction"}`),
	)
	h := History{
		Messages: []transcript.Message{
			transcript.User("one"), transcript.Assistant(transcript.StopEndTurn, transcript.Text("two")),
			transcript.User("three"),
		},
		Compactions: []Compaction{{Through: 2, Made: 2, Window: &window}},
	}
	show := func(h History, model string) string {
		built, err := Build(h, target(t, model))
		if err != nil || len(built.Degraded) > 0 {
			t.Fatalf("%s: %v %v", model, err, built.Degraded)
		}
		var all []string
		for i := range built.Messages {
			m := &built.Messages[i]
			all = append(all, string(m.Role)+": "+m.String())
			for _, b := range m.Blocks {
				all = append(all, b.Kind)
			}
		}
		return strings.Join(all, " | ")
	}
	const whole = "user: one | assistant: two |  | user: three"
	if got := show(h, gpt); got != "assistant:  | message | compaction | user: three" {
		t.Errorf("its maker gets %s", got)
	}
	if got := show(h, opus); got != whole {
		t.Errorf("another provider gets %s", got)
	}
	atEnd := h
	atEnd.Messages = h.Messages[:2]
	if got := show(atEnd, gpt); got != "assistant:  | message | compaction" {
		t.Errorf("in the middle of a run its maker gets %s", got)
	}
	h.Repairs = []Repair{{Kind: RepairTokens, Provider: "openai", Through: 3}}
	if got := show(h, gpt); got != whole {
		t.Errorf("after a refusal its maker gets %s", got)
	}
}
