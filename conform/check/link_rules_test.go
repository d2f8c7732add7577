package check_test

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// TestEveryLinkRuleIsMissed leaves out each rule of linking in turn: the transcript that
// shows it comes out different.
func TestEveryLinkRuleIsMissed(t *testing.T) {
	for rule, name := range check.LinkRules {
		if rule == 0 {
			continue // no rule is 0
		}
		if name == "" {
			t.Errorf("no transcript shows link rule %d", rule)
			continue
		}
		tr, _, want := readTranscript(t, "testdata/transcripts/"+name+".txt")
		if got := tr.run(func(ev *evidence.Evidence) *check.Trace { return check.DecodeWithout(ev, rule) }); got == want {
			t.Errorf("%s is the same without link rule %d", name, rule)
		}
	}
}
