package suites

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

func TestMain(m *testing.M) { Main(m) }

// TestRun holds the whole path: every requirement of the catalogue is seen on
// some play of rkat and holds, and nothing is printed.
func TestRun(t *testing.T) {
	progress := 0
	stdout := capture(t, func() {
		outcome, err := Run(t.Context(), Options{Progress: func(done, total int) {
			if progress++; done != progress || done > total {
				t.Errorf("progress %d of %d after %d calls", done, total, progress)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		held(t, outcome)
	})
	if stdout != "" {
		t.Errorf("standard output: %q", stdout)
	}
}

// TestSimulatorAnswers holds that rkat passes with the simulator as it does with
// the cassettes, but for what is about cassettes.
func TestSimulatorAnswers(t *testing.T) {
	last, calls := 0, 0
	o, err := Run(t.Context(), Options{Sources: []evidence.Source{evidence.SourceSimulator, evidence.SourceCassette}, Filter: "!STR",
		Progress: func(done, total int) {
			if calls++; done != last+1 || done > total {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}})
	if err != nil || o.Interrupted || calls == 0 {
		t.Fatal(err)
	}
	live := map[string]int{} // by check and play: 1 cassette, 2 simulator
	for _, r := range o.Results {
		name, simulated := strings.CutSuffix(r.Case, "@simulator")
		if r.Verdict != report.Pass || simulated && r.Evidence != "" {
			t.Errorf("%s %s: %s %s %+v", r.Check, r.Case, r.Verdict, r.Reason, r.Findings)
		}
		live[r.Check+" "+name] |= map[bool]int{false: 1, true: 2}[simulated]
	}
	for what, by := range live {
		if by != 3 && !strings.HasPrefix(what, "CAS-") {
			t.Errorf("%s is judged with one source only", what)
		}
	}
	if _, err := Run(t.Context(), Options{Sources: []evidence.Source{evidence.SourceLive}}); err == nil {
		t.Error("a source that nobody can play")
	}
}

func held(t *testing.T, o Outcome) {
	t.Helper()
	run := report.NewRun(report.Run{Set: report.NewSet("all", o.Requirements)}, o.Results)
	if run.Summary.Exit != report.ExitOK || o.Interrupted {
		t.Errorf("exit %d, interrupted=%t", run.Summary.Exit, o.Interrupted)
	}
	for _, r := range run.Results {
		if r.Verdict != report.Pass {
			t.Errorf("%s %s %s: %s %s %+v", r.Requirement, r.Check, r.Case, r.Verdict, r.Reason, r.Findings)
		}
	}
	catalogue, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range catalogue {
		if want.Status != specs.Withdrawn && !slices.Contains(o.Requirements, want.ID) {
			t.Errorf("%s is judged by no suite", want.ID)
		}
	}
}

// capture returns what f writes to standard output.
func capture(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdout
	os.Stdout = w
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		read <- string(text)
	}()
	func() {
		defer func() { os.Stdout = was; _ = w.Close() }()
		f()
	}()
	return <-read
}

func TestFilter(t *testing.T) {
	o, err := Run(t.Context(), Options{Filter: "SIG-014 && thinking-tool-loop"})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Results) != 1 || o.Results[0].Case != "thinking-tool-loop/gemini" || !slices.Equal(o.Requirements, []string{"SIG-014"}) {
		t.Errorf("%+v", o)
	}
	if _, err := Run(t.Context(), Options{Filter: "nonesuch"}); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), `"nonesuch"`) {
		t.Errorf("a filter that selects nothing: %v", err)
	}
	var fault *FilterError
	if _, err := Run(t.Context(), Options{Filter: "!("}); !errors.As(err, &fault) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a filter that cannot be read: %v", err)
	}
}

// TestEveryClaimIsShown holds that scenarios claim at least one MUST each, so
// that a play that breaks off cannot pass, and claim only what applies.
func TestEveryClaimIsShown(t *testing.T) {
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, target := range s.Targets {
			musts := 0
			for _, id := range s.Requirements {
				r, err := specs.FindRequirement(id)
				if err != nil {
					t.Fatal(err)
				}
				if r.Level == specs.Must && r.Applies.To(target.Provider, "cassette") {
					musts++
				}
			}
			if musts == 0 {
				t.Errorf("%s claims no MUST for %s", s.Name, target.Provider)
			}
		}
	}
}
