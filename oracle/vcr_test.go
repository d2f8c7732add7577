package oracle

import (
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/vcr"
)

// noNetwork is the network of a replay.
type noNetwork struct{}

// RoundTrip implements http.RoundTripper.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a replay asked the network")
}

// TestRecorded records the conversation of each SDK with package vcr, replays it, and
// has the referee judge both.
func TestRecorded(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *link) talker{
		"anthropic":       func(t *testing.T, w *link) talker { return newClaude(t, w, true) },
		"anthropic unary": func(t *testing.T, w *link) talker { return newClaude(t, w, false) },
		"openai":          func(t *testing.T, w *link) talker { return newGPT(t, w, true, false) },
		"openai unary":    func(t *testing.T, w *link) talker { return newGPT(t, w, false, false) },
		"gemini":          func(t *testing.T, w *link) talker { return newFlash(t, w, true) },
		"gemini unary":    func(t *testing.T, w *link) talker { return newFlash(t, w, false) },
		"chat":            func(t *testing.T, w *link) talker { return newCompleter(t, w, true) },
		"chat unary":      func(t *testing.T, w *link) talker { return newCompleter(t, w, false) },
	} {
		t.Run(name, func(t *testing.T) {
			cassette := filepath.Join(t.TempDir(), "loop")
			for mode, transport := range recordedThen(t) {
				t.Setenv("VCR_MODE", mode)
				t.Run(mode, func(t *testing.T) {
					rec := vcr.ForTest(t, cassette)
					rec.SetTransport(transport)
					w := &link{base: rec, protos: map[string]int{}}
					if diff := cmp.Diff(played, converse(t, open(t, w))); diff != "" {
						t.Errorf("another conversation (-want +got):\n%s", diff)
					}
					vcr.Judge(t, rec)
				})
			}
		})
	}
}

// recordedThen yields the modes in their order, with what stands for the network.
func recordedThen(t *testing.T) func(yield func(string, http.RoundTripper) bool) {
	t.Helper()
	scenario, err := specs.ParseScenario("play.txtar", []byte(scenarioWith("")))
	if err != nil {
		t.Fatal(err)
	}
	simulated := simulator.Transport(simulator.New(simulator.Config{Scenario: scenario, Seed: t.Name()}))
	return func(yield func(string, http.RoundTripper) bool) {
		_ = yield("record", simulated) && yield("replay", noNetwork{})
	}
}
