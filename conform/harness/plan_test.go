package harness

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// A caller sees all that is selected and says how often each case is run.
func TestChoose(t *testing.T) {
	var plan Plan
	ran := map[string]int{}
	o, err := runWithoutCassettes(t, Options{
		Config: Config{Subject: refusesModels}, Filter: "MOD-003", Sources: []evidence.Source{evidence.SourceSimulator},
		Choose: func(p Plan) (func(string) int, error) {
			plan = p
			return func(name string) int { return strings.Count(name, "unsupported-model/openai") * 2 }, nil
		},
		Observe: func(run CaseRun, _ []report.Result) { ran[run.Name]++ },
	})
	if err != nil || len(ran) != 1 || ran["unsupported-model/openai@simulator"] != 2 {
		t.Fatalf("%v: %v", err, ran)
	}
	all := func(string) bool { return true }
	if len(plan.Summaries(all)) < 3 || !slices.Equal(plan.Expected(all), []string{"MOD-003"}) || len(plan.Expected(func(string) bool { return false })) > 0 {
		t.Errorf("%+v", plan)
	}
	if len(o.Results) < 2 || len(o.Results)%2 != 0 {
		t.Errorf("two runs have %d results", len(o.Results))
	}
}

// The caller can refuse the plan.
func TestChooseRefuses(t *testing.T) {
	want := errors.New("no")
	_, err := runWithoutCassettes(t, Options{Config: Config{Subject: refusesModels}, Choose: func(Plan) (func(string) int, error) { return nil, want }})
	if !errors.Is(err, want) {
		t.Error(err)
	}
}
