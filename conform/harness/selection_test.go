package harness

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestLongestFirst holds that the cases that wait for seconds begin a run, and that the
// others keep their order.
func TestLongestFirst(t *testing.T) {
	run := func(name string, stall *specs.After) selectedRun {
		return selectedRun{Permutation: Permutation{Case: Case{Scenario: &specs.Scenario{Name: name,
			Turns: []specs.Turn{{Stall: stall}}}}}}
	}
	s := selection{runs: []selectedRun{run("a", nil), run("stall", &specs.After{}), run("b", nil),
		run("stall-once", &specs.After{})}}
	s.beginWithLongest()
	var names []string
	for _, r := range s.runs {
		names = append(names, r.Case.Scenario.Name)
	}
	if want := []string{"stall", "stall-once", "a", "b"}; !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
}
