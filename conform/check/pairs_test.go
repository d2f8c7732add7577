package check_test

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
)

// checkPair is a conversation that breaks a rule and the nearest one that keeps it, in
// the words of [TestTranscripts].
type checkPair struct {
	check, provider string
	failing, legal  string
}

func testPairs(t *testing.T, pairs []checkPair) {
	t.Helper()
	for _, p := range pairs {
		count := func(text string) check.Result {
			ev := parseTranscript(t, text).evidence(p.provider)
			return find(t, p.check).Run(check.Decode(&ev))
		}
		if got := count(p.failing); len(got.Findings) == 0 {
			t.Errorf("%s of %s finds nothing in\n%s", p.check, p.provider, p.failing)
		}
		if got := count(p.legal); len(got.Findings) > 0 || got.Observed == 0 {
			t.Errorf("%s of %s: observes %d, finds %+v in\n%s", p.check, p.provider, got.Observed,
				got.Findings, p.legal)
		}
	}
}
