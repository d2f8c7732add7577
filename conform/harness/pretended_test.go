package harness

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestPretendedLengthIsForRkat holds that a prompt which is long in the provider's words only
// is run with no agent that may count for itself.
func TestPretendedLengthIsForRkat(t *testing.T) {
	cases, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	able := About{Abilities: specs.Abilities()}
	for _, c := range cases {
		if c.Scenario.Name != "too-long-then-short" {
			continue
		}
		if reason := (Permutation{Case: c, Source: evidence.SourceSimulator}).UnsupportedReason(able); reason != "" {
			t.Errorf("%s: %s", c.Name(), reason)
		}
		c.Scenario = c.Scenario.Lenient()
		if reason := (Permutation{Case: c, Source: evidence.SourceSimulator}).UnsupportedReason(able); !strings.Contains(reason, "counts tokens") {
			t.Errorf("%s: %q", c.Name(), reason)
		}
	}
}
