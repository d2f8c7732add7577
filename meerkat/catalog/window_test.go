package catalog

import "testing"

// TestContextWindows: a model that is named has one, so that a run knows when
// its conversation becomes too long, and a reply fits into it.
func TestContextWindows(t *testing.T) {
	for _, e := range Models() {
		if e.Named && e.ContextWindow == 0 || e.ContextWindow != 0 && e.ContextWindow <= e.MaxOutput {
			t.Errorf("%s: context window %d, output %d", e.Name, e.ContextWindow, e.MaxOutput)
		}
	}
	if e, err := Lookup("claude-opus-4-5-20251101"); err != nil || e.ContextWindow != 200_000 {
		t.Errorf("%d, %v", e.ContextWindow, err)
	}
}
