package agent

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestWindowCountsWhereItIsRead: a provider's window stands ahead of what is sent, also
// when there is no room for all of it, for the provider that made it only. Another one
// gets the messages, so they are what can be kept and summarised.
func TestWindowCountsWhereItIsRead(t *testing.T) {
	target := func(model string) handoff.Target {
		entry, err := catalog.Lookup(model)
		if err != nil {
			t.Fatal(err)
		}
		return handoff.Target{Provider: entry.Provider, API: "responses", Model: entry}
	}
	window := transcript.Assistant(transcript.StopCompaction, transcript.Block{
		Type: transcript.BlockOpaque, Kind: "compaction", Raw: []byte(`{"type":"compaction"}`),
		Origin: target("gpt-5.2").Origin(),
	})
	s := state{session: session.Session{
		Messages: []transcript.Message{
			transcript.User("one"), transcript.Assistant(transcript.StopEndTurn, transcript.Text("two")),
			transcript.User("three"), transcript.Assistant(transcript.StopEndTurn, transcript.Text("four")),
		},
		Compactions: []session.Compaction{{Through: 2, Seen: 2, Window: &window}},
	}}
	for model, want := range map[string][]int{"gpt-5.2": {2, 3}, "claude-opus-4-6": {0, 1, 2, 3}} {
		s.target = target(model)
		isRead := model == "gpt-5.2"
		if got := unitIndices(s.retentionUnits()); !slices.Equal(got, want) || (s.compactedThrough() == 2) != isRead {
			t.Errorf("%s sees messages %v behind %d", model, got, s.compactedThrough())
		}
		if got := s.truncatedView(); (got.Window != nil) != isRead || got.Summary != leftOut {
			t.Errorf("%s without room gets %q behind the window %v", model, got.Summary, got.Window)
		}
	}
}
