package program

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/scenario"
)

// dummy is a subject that does what it is told to.
type dummy func(ctx context.Context, step scenario.Step) (evidence.Process, error)

func (d dummy) Run(ctx context.Context, step scenario.Step, _ string, _ []string) (evidence.Process, string, error) {
	p, err := d(ctx, step)
	return p, "", err
}

// refuses is an agent that refuses every model, as the only silent scenario
// wants it.
var refuses = dummy(func(_ context.Context, step scenario.Step) (evidence.Process, error) {
	return evidence.Process{Args: []string{"run", "--model", step.Model}, ExitCode: 77, Stderr: []byte(step.Model + " is not supported\n")}, nil
})

func allowlist(p *Program) { p.Specs("MOD") }

func program(t *testing.T, cfg Config) *Program {
	t.Helper()
	cfg.Tapes = fstest.MapFS{}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRunJudges(t *testing.T) {
	const ginkgos = "github.com/onsi/ginkgo/v2/internal/interrupt_handler.(*InterruptHandler).registerForInterrupts.func2"
	defer goleak.VerifyNone(t, goleak.IgnoreAnyFunction("os/signal.loop"), goleak.IgnoreAnyFunction(ginkgos))
	p := program(t, Config{Subject: refuses, Filter: "unsupported-model"})
	o, err := p.Run(t.Context(), nil, allowlist)
	if err != nil || o.Interrupted || len(o.Results) != 3 {
		t.Fatalf("%+v, %v", o, err)
	}
	for _, r := range o.Results {
		if r.Requirement != "MOD-003" || r.Verdict != report.Pass {
			t.Errorf("%+v", r)
		}
	}
}

// told remembers whether Ginkgo found anything red.
type told struct{ failed bool }

func (t *told) Fail() { t.failed = true }

func TestRunTellsTheTest(t *testing.T) {
	var log strings.Builder
	accepts := dummy(func(_ context.Context, step scenario.Step) (evidence.Process, error) {
		return evidence.Process{Args: []string{"run", "--model", step.Model}}, nil
	})
	var heard told
	o, err := program(t, Config{Subject: accepts, Filter: "unsupported-model && openai", Log: &log}).Run(t.Context(), &heard, allowlist)
	if err != nil || !heard.failed || len(o.Results) != 1 || o.Results[0].Verdict != report.Fail {
		t.Errorf("failed=%t %+v %v", heard.failed, o, err)
	}
	if !strings.Contains(log.String(), "MOD-003/no-traffic") || !strings.Contains(log.String(), "exited 0") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
}

// TestMissingCassettesAreNobodysFault holds that the harness blames itself.
func TestMissingCassettesAreNobodysFault(t *testing.T) {
	o, err := program(t, Config{Subject: refuses, Filter: "thinking-tool-loop && anthropic"}).Run(t.Context(), nil, allowlist)
	if err != nil || len(o.Results) == 0 {
		t.Fatalf("%+v %v", o, err)
	}
	for _, r := range o.Results {
		if r.Verdict != report.HarnessError || !strings.Contains(r.Reason, "make cassettes") {
			t.Errorf("%+v", r)
		}
	}
}

// TestInterrupt holds that a run ends when its context does, with what it has.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stuck := dummy(func(ctx context.Context, _ scenario.Step) (evidence.Process, error) {
		cancel()
		<-ctx.Done()
		return evidence.Process{}, ctx.Err()
	})
	o, err := program(t, Config{Subject: stuck, Workers: 1}).Run(ctx, nil, allowlist)
	if err != nil || !o.Interrupted {
		t.Errorf("%+v %v", o, err)
	}
}

// TestSubjectThatPanics holds that a subject's panic in a play of its own
// goroutine does not end the process.
func TestSubjectThatPanics(t *testing.T) {
	panics := dummy(func(context.Context, scenario.Step) (evidence.Process, error) { panic("oops") })
	o, err := program(t, Config{Subject: panics, Filter: "unsupported-model && gemini"}).Run(t.Context(), nil, allowlist)
	if err != nil || len(o.Results) != 1 || o.Results[0].Verdict != report.HarnessError || !strings.Contains(o.Results[0].Reason, "oops") {
		t.Errorf("%+v %v", o, err)
	}
}

func TestSound(t *testing.T) {
	p := program(t, Config{Subject: refuses, Filter: "harness"})
	_, err := p.Run(t.Context(), nil, func(p *Program) {
		p.Sound("a.yaml", "is whole", func() error { return nil })
		p.Sound("b.yaml", "is whole", func() error { return errors.New("b.yaml: is torn") })
	})
	if err == nil || err.Error() != "b.yaml: is torn" {
		t.Errorf("got %v", err)
	}
}

func TestNothingSelected(t *testing.T) {
	_, err := program(t, Config{Subject: refuses, Filter: "SIG"}).Run(t.Context(), nil, allowlist)
	if !errors.Is(err, ErrNothing) {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{Filter: "("}); err == nil {
		t.Error("a filter that cannot be read is accepted")
	}
}

// TestNothingIsPrinted holds that standard output belongs to the caller.
func TestNothingIsPrinted(t *testing.T) {
	was := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	defer func() { os.Stdout = was }()
	_, err = program(t, Config{Subject: refuses, Filter: "unsupported-model"}).Run(t.Context(), nil, allowlist)
	_ = w.Close()
	buf := make([]byte, 1)
	if n, _ := r.Read(buf); n > 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
