package suites

import (
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/mutant"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

// TestGoodEvidence holds that what is made from cassettes is what a real play
// brings home, apart from sessions and times.
func TestGoodEvidence(t *testing.T) {
	good, err := GoodEvidence()
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	stage, err := play.NewStage(play.Rkat{Main: rkat.Run})
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	for i, p := range scenario.Plays(scenarios) {
		real := stage.Perform(t.Context(), p, cassettes.FS).Evidence
		if len(good[i].Exchanges) != len(real.Exchanges) || len(good[i].Process) != len(real.Process) {
			t.Errorf("%s: %d exchanges and %d processes, a play has %d and %d", p.Name(),
				len(good[i].Exchanges), len(good[i].Process), len(real.Exchanges), len(real.Process))
			continue
		}
		for k, x := range real.Exchanges {
			if y := good[i].Exchanges[k]; x.Process != y.Process || string(x.Request.Body) != string(y.Request.Body) || string(x.Response.Body) != string(y.Response.Body) {
				t.Errorf("%s: exchange %d is of process %d, in a play of %d, or its bytes differ", p.Name(), k, y.Process, x.Process)
			}
		}
		for k, pr := range real.Process {
			if g := good[i].Process[k]; pr.Resumed != g.Resumed || (pr.ExitCode == 0) != (g.ExitCode == 0) {
				t.Errorf("%s: process %d exits %d, in a play %d", p.Name(), k, g.ExitCode, pr.ExitCode)
			}
		}
	}
}

// TestSelftest holds that the committed cassettes show every requirement and
// give every mutant something to distort, and that every check notices.
func TestSelftest(t *testing.T) {
	good, err := GoodEvidence()
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range mutant.Selftest(good, rules).Faults {
		t.Error(fault)
	}
}
