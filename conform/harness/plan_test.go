package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
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
	if len(plan.Summaries(all)) < 3 || !slices.Equal(plan.Expected(all), []string{"MOD-003"}) ||
		len(plan.Expected(func(string) bool { return false })) > 0 {
		t.Errorf("%+v", plan)
	}
	if len(o.Results) < 2 || len(o.Results)%2 != 0 {
		t.Errorf("two runs have %d results", len(o.Results))
	}
}

// The caller can refuse the plan.
func TestChooseRefuses(t *testing.T) {
	want := errors.New("no")
	_, err := runWithoutCassettes(t, Options{Config: Config{Subject: refusesModels},
		Choose: func(Plan) (func(string) int, error) { return nil, want }})
	if !errors.Is(err, want) {
		t.Error(err)
	}
}

// An agent that is wrong now and then is flaky.
func TestRepeatFindsFlakes(t *testing.T) {
	var runs atomic.Int32
	sometimes := scriptedSubject(func(ctx context.Context, step Step) (evidence.Process, error) {
		if runs.Add(1)%2 == 0 {
			return evidence.Process{Args: []string{"run", "--model", step.Model}}, nil
		}
		return refusesModels(ctx, step)
	})
	o, err := runWithoutCassettes(t, Options{
		Config: Config{Subject: sometimes}, Filter: "MOD-003 && unsupported-model && openai",
		Sources: []evidence.Source{evidence.SourceSimulator}, Workers: 1,
		Choose: func(Plan) (func(string) int, error) { return func(string) int { return 4 }, nil },
	})
	folded := report.FoldRepeats(o.Results)
	if err != nil || len(folded) != 1 || folded[0].Verdict != report.Flaky || folded[0].Runs[report.Fail] != 2 ||
		folded[0].Runs[report.Pass] != 2 {
		t.Errorf("%v: %+v", err, folded)
	}
}
