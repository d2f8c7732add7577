package e2e_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// TestCompacted: whatever a session with tools and thoughts holds, a compaction makes
// the next request smaller, or says why it does not and changes nothing. A strict
// provider accepts the request for the summary and every request after it.
func TestCompacted(t *testing.T) {
	for _, model := range killed {
		t.Run(model, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { compactOnce(t, r, model) })
		})
	}
}

func compactOnce(t *testing.T, r *rapid.T, model string) {
	t.Helper()
	runs := 0
	strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "compacted",
		Level: rule.Strict}))}
	subject := agentOver(t, t.TempDir(), model, strict, &runs)
	sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 10, 200, 2000}), 1, 4).Draw(r, "words of each prompt")
	first, err := subject.Run(t.Context(), "Echo the word heron. "+strings.Repeat("word ", sizes[0]))
	for _, n := range sizes[1:] {
		if err == nil {
			_, err = subject.Resume(t.Context(), first.SessionID, "And the word crane. "+strings.Repeat("word ", n))
		}
	}
	for range rapid.IntRange(1, 2).Draw(r, "compactions") {
		before, perr := subject.PreviewResume(t.Context(), first.SessionID, "And the word stork.")
		if err := errors.Join(err, perr); err != nil {
			r.Fatal(err)
		}
		_, err = subject.Compact(t.Context(), first.SessionID)
		refused := errors.As(err, new(*agent.NotSmallerError))
		if err != nil && !refused {
			r.Fatal(err)
		}
		after, perr := subject.PreviewResume(t.Context(), first.SessionID, "And the word stork.")
		if perr != nil || !refused && len(after.Body) >= len(before.Body) ||
			refused && string(after.Body) != string(before.Body) {
			r.Fatalf("%v; the next request has %d bytes instead of %d (%v)", perr, len(after.Body),
				len(before.Body), err)
		}
		r.Logf("%s: %d bytes before, %d after", model, len(before.Body), len(after.Body))
		if _, err = subject.Resume(t.Context(), first.SessionID, "And the word stork."); err != nil ||
			len(strict.refused) > 0 {
			r.Fatalf("after the compaction: %v, refused %v", err, strict.refused)
		}
	}
}
