package mutate

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// A mutant that distorts nothing is a fault of the self-test, whether it says so or not.
func TestIdleMutant(t *testing.T) {
	good := samples(t)
	group := byRequirement(rules(t))[0]
	for want, m := range map[string]Mutant{
		"finds nothing to distort in any good case": {ID: "idle",
			Apply: func(ev evidence.Evidence) (evidence.Evidence, bool) { return ev, false }},
		"mutant idle survives on": {ID: "idle",
			Apply: func(ev evidence.Evidence) (evidence.Evidence, bool) { return cloneEvidence(ev), true }},
	} {
		var table Table
		table.killMutant(m, good[:2], group, map[string]bool{})
		if table.OK() || !strings.Contains(table.Faults[0], want) {
			t.Errorf("%q, want %q", table.Faults, want)
		}
	}
}
