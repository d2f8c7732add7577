package check_test

import (
	"maps"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
)

// TestNothingRecordedIsNew holds that the check of new types knows what providers send today:
// of all recorded replies one holds what it does not know, a test's own broken event.
func TestNothingRecordedIsNew(t *testing.T) {
	_, recordings := readCorpus(t)
	counts := map[string]int{}
	for i := range recordings {
		for _, what := range check.NewInReplies(&recordings[i].Evidence) {
			counts[what]++
		}
	}
	if want := map[string]int{`an event of the new type "this"`: 1}; !maps.Equal(counts, want) {
		t.Errorf("recorded replies hold %v, want %v", counts, want)
	}
}
