package harness

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// scriptedSubject is a subject that ends each step as its function says.
type scriptedSubject func(ctx context.Context, step Step) (evidence.Process, error)

func (s scriptedSubject) About() About {
	return About{HoldsAll: true, Abilities: specs.Abilities()}
}

func (s scriptedSubject) Open(context.Context, Room) (Session, error) { return s, nil }

func (s scriptedSubject) RunStep(ctx context.Context, step Step) (evidence.Process, error) {
	return s(ctx, step)
}

func (s scriptedSubject) Close() error { return nil }

// refusesModels is an agent that refuses every model, as the scenario without
// traffic wants it.
var refusesModels = scriptedSubject(func(_ context.Context, step Step) (evidence.Process, error) {
	return evidence.Process{Args: []string{"run", "--model", step.Model}, ExitCode: 77,
		Stderr: []byte(step.Model + " is not supported\n")}, nil
})

// runWithoutCassettes runs with an empty set of cassettes.
func runWithoutCassettes(t *testing.T, o Options) (Outcome, error) {
	t.Helper()
	o.Cassettes = fstest.MapFS{}
	return Run(t.Context(), o)
}

func TestRunJudges(t *testing.T) {
	var calls int
	o, err := runWithoutCassettes(t, Options{Config: Config{Subject: refusesModels}, Filter: "unsupported-model && MOD",
		Progress: func(done, total int) {
			if calls++; done != calls || total != 12 {
				t.Errorf("progress %d of %d after %d calls", done, total, calls)
			}
		}})
	if err != nil || o.Interrupted || len(o.Results) != 3 || calls != 12 {
		t.Fatalf("%+v, %v, %d calls", o, err, calls)
	}
	for _, r := range o.Results {
		if r.Requirement != "MOD-003" || r.Verdict != report.Pass {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(o.Requirements, []string{"MOD-003"}) {
		t.Errorf("requirements %v", o.Requirements)
	}
}

func TestRunFindsFailures(t *testing.T) {
	accepts := scriptedSubject(func(_ context.Context, step Step) (evidence.Process, error) {
		return evidence.Process{Args: []string{"run", "--model", step.Model}}, nil
	})
	o, err := runWithoutCassettes(t, Options{Config: Config{Subject: accepts}, Filter: "unsupported-model && openai"})
	if err != nil || len(o.Results) != 1 || o.Results[0].Verdict != report.Fail ||
		!strings.Contains(o.Results[0].Findings[0].Message, "exited 0") {
		t.Errorf("%+v %v", o, err)
	}
}

// TestMissingCassettesAreHarnessErrors holds that the harness blames itself.
func TestMissingCassettesAreHarnessErrors(t *testing.T) {
	o, err := runWithoutCassettes(t,
		Options{Config: Config{Subject: refusesModels}, Filter: "thinking-tool-loop && anthropic"})
	if err != nil || len(o.Results) == 0 {
		t.Fatalf("%+v %v", o, err)
	}
	for _, r := range o.Results {
		if r.Verdict != report.HarnessError || !strings.Contains(r.Reason, "make cassettes") {
			t.Errorf("%+v", r)
		}
	}
	if _, err := runWithoutCassettes(t, Options{Config: Config{Subject: refusesModels}, Filter: CassetteLabel}); err == nil || !strings.Contains(err.Error(), ".yaml: ") {
		t.Errorf("cassettes that are not there are verified: %v", err)
	}
}

// TestRunsEachCaseOnce holds how often the agent is started and how many cases
// run at the same time.
func TestRunsEachCaseOnce(t *testing.T) {
	var running, most, started atomic.Int32
	counts := scriptedSubject(func(_ context.Context, step Step) (evidence.Process, error) {
		most.Store(max(most.Load(), running.Add(1)))
		if !step.Resume && !step.Turn {
			started.Add(1)
		}
		running.Add(-1)
		return evidence.Process{ExitCode: 77}, nil
	})
	if _, err := runWithoutCassettes(t, Options{Config: Config{Subject: counts}, Workers: 3, Filter: "!harness",
		Sources: []evidence.Source{evidence.SourceSimulator}}); err != nil {
		t.Fatal(err)
	}
	cases, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	if int(started.Load()) != len(cases) || most.Load() > 3 {
		t.Errorf("%d cases ran, %d at once; want %d, at most 3", started.Load(), most.Load(), len(cases))
	}
}

// TestInterrupt holds that a run ends when its context does, with what it has.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stuck := scriptedSubject(func(ctx context.Context, _ Step) (evidence.Process, error) {
		cancel()
		<-ctx.Done()
		return evidence.Process{}, ctx.Err()
	})
	o, err := Run(ctx, Options{Config: Config{Subject: stuck}, Workers: 1})
	if err != nil || !o.Interrupted || len(o.Results) > 0 || len(o.Requirements) == 0 {
		t.Errorf("%+v %v", o, err)
	}
}

// TestSubjectThatPanics holds that the panic of a subject does not end the
// process.
func TestSubjectThatPanics(t *testing.T) {
	panics := scriptedSubject(func(context.Context, Step) (evidence.Process, error) { panic("oops") })
	o, err := runWithoutCassettes(t, Options{Config: Config{Subject: panics}, Filter: "unsupported-model && gemini"})
	if err != nil || len(o.Results) != 1 || o.Results[0].Verdict != report.HarnessError ||
		!strings.Contains(o.Results[0].Reason, "oops") {
		t.Errorf("%+v %v", o, err)
	}
}

func TestNothingSelected(t *testing.T) {
	for _, o := range []Options{{Filter: "SIG-001 && ORD"},
		{Filter: "CAS", Sources: []evidence.Source{evidence.SourceSimulator}}} {
		o.Subject = refusesModels
		if _, err := Run(t.Context(), o); !errors.Is(err, ErrNothingSelected) ||
			!strings.Contains(err.Error(), `"`+o.Filter+`"`) {
			t.Errorf("%q: %v", o.Filter, err)
		}
	}
	for _, filter := range []string{"!(", "nonesuch", "SIG || nonesuch"} {
		var fault *FilterError
		if _, err := Run(t.Context(), Options{Config: Config{Subject: refusesModels}, Filter: filter}); !errors.As(err, &fault) {
			t.Errorf("%q: a filter that cannot be read, or names what there is not: %v", filter, err)
		}
	}
	if _, err := Run(t.Context(), Options{Config: Config{Subject: refusesModels},
		Sources: []evidence.Source{evidence.SourceLive}}); err == nil {
		t.Error("a source that cannot answer is accepted")
	}
}

// TestSelectedRequirements holds which requirements a filter makes the run show:
// those that a selected case was written for, and those that no filter narrows.
func TestSelectedRequirements(t *testing.T) {
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Subject: refusesModels}
	s, err := Options{Config: config, Filter: "SIG-014 && thinking-tool-loop && gemini"}.selectRuns(rules)
	if err != nil || len(s.runs) != 1 || s.runs[0].Case.Name() != "thinking-tool-loop/gemini" ||
		!slices.Equal(s.requirements, []string{"SIG-014"}) || len(s.cassettes) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = Options{Config: config}.selectRuns(rules)
	if err != nil || len(s.runs) != len(cases) || len(s.cassettes) == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, rule := range rules {
		if !slices.Contains(s.requirements, rule.Requirement.ID) {
			t.Errorf("%s is shown by no case", rule.Requirement.ID)
		}
	}
}

// TestEveryCaseCoversAMust holds that scenarios cover at least one MUST each, so
// that a case that breaks off cannot pass.
func TestEveryCaseCoversAMust(t *testing.T) {
	cases, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		musts := 0
		for _, id := range c.Scenario.Requirements {
			r, err := specs.FindRequirement(id)
			if err != nil {
				t.Fatal(err)
			}
			if r.Consequence.IsFailure() && r.Applies.To(c.Target.Provider, string(evidence.SourceCassette)) {
				musts++
			}
		}
		if musts == 0 {
			t.Errorf("%s covers no MUST", c.Name())
		}
	}
}

// TestNoTemporaryFolder holds that a machine without one is told what to set.
func TestNoTemporaryFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // the last two on Windows
		t.Setenv(name, missing)
	}
	_, err := NewRunner(Config{Subject: InProcess(miniature{}.main, "", nil)})
	if err == nil || !strings.HasPrefix(err.Error(), missing+": ") || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("%v", err)
	}
}

// TestCirclesEnd holds that a case ends when its agent asks much more often than its scenario has
// turns, and says why.
func TestCirclesEnd(t *testing.T) {
	c := newCapture(Permutation{Case: Case{Scenario: &specs.Scenario{Turns: make([]specs.Turn, 2)}}}, "", About{})
	ctx, end := context.WithCancelCause(t.Context())
	c.endCase = end
	passed := 0
	h := c.countRequests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
	for i := range 60 {
		if isOver := i > 52; (ctx.Err() != nil) != isOver {
			t.Fatalf("after %d requests: %v", i, context.Cause(ctx))
		}
		h.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequest(http.MethodPost, "https://api.openai.com/v1/responses", nil))
	}
	c.noteLimit(0, context.Cause(ctx), time.Minute, nil)
	if passed != 52 || !strings.Contains(c.notes[0], "50 more than its scenario has turns: the agent goes in circles") {
		t.Errorf("%d requests passed; %s", passed, c.notes)
	}
}
