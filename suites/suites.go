// Package suites runs every conformance suite against rkat: the specs of the
// area packages below it, in one process and in one report.
package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/suites/allowlist"
	"github.com/meerkat-go/conformance/suites/cassette"
	"github.com/meerkat-go/conformance/suites/ordering"
	"github.com/meerkat-go/conformance/suites/play"
	"github.com/meerkat-go/conformance/suites/program"
	"github.com/meerkat-go/conformance/suites/resume"
	"github.com/meerkat-go/conformance/suites/signature"
	"github.com/meerkat-go/conformance/suites/streaming"
)

// Options say what to run. The zero value runs everything.
type Options struct {
	// Filter selects specs by labels: requirement id, area, level, provider,
	// scenario, joined by && || ! and parentheses.
	Filter string
	// Workers is how many plays run at once. 0: twice the processors.
	Workers int
	// Log receives Ginkgo's own output; nil discards it.
	Log io.Writer
	// Progress, if not nil, is called after each spec.
	Progress func(done, total int)
	// Sources are what answers the agent, one after the other: the committed
	// cassettes, the simulator. Nil: the cassettes.
	Sources []evidence.Source
	// Subject is the agent under test; nil is rkat.
	Subject play.Subject
}

// ErrNothing is the error of Run for a filter that selects nothing. It and
// FilterError are the caller's.
var ErrNothing = program.ErrNothing

// FilterError is a filter that cannot be read.
type FilterError = program.FilterError

// Outcome is what a run found.
type Outcome = program.Outcome

// Run plays and judges. It never ends the process and writes nothing to
// standard output. Programs that call it call ActAs first.
func Run(ctx context.Context, o Options) (Outcome, error) {
	return run(ctx, nil, o, Register)
}

// Register adds every suite to p.
func Register(p *program.Program) {
	for _, register := range []func(*program.Program){
		ordering.Register, signature.Register, allowlist.Register, resume.Register, streaming.Register, cassette.Register,
	} {
		register(p)
	}
}

// run has a t only in tests.
//
//nolint:thelper // it runs the suites, it does not help one
func run(ctx context.Context, t *testing.T, o Options, register func(*program.Program)) (Outcome, error) {
	if o.Subject == nil {
		o.Subject = play.Rkat{Main: rkat.Run}
	}
	if o.Sources == nil {
		o.Sources = []evidence.Source{evidence.SourceCassette}
	}
	var all Outcome
	var nothing error
	progress, before, known := o.Progress, 0, 0
	o.Progress = func(done, total int) {
		if known = before + total; progress != nil {
			progress(before+done, known)
		}
	}
	for _, source := range o.Sources {
		before = known
		one, err := runWith(ctx, t, source, o, register)
		if errors.Is(err, ErrNothing) {
			nothing = err
			continue
		}
		all.Results = append(all.Results, one.Results...)
		all.Requirements = slices.Compact(slices.Sorted(slices.Values(append(all.Requirements, one.Requirements...))))
		if all.Interrupted = one.Interrupted; err != nil || one.Interrupted {
			return all, err
		}
	}
	if len(all.Results) == 0 {
		return all, nothing
	}
	return all, nil
}

// runWith plays and judges with one source.
//
//nolint:thelper // it runs the suites, it does not help one
func runWith(ctx context.Context, t *testing.T, source evidence.Source, o Options, register func(*program.Program)) (Outcome, error) {
	cfg := program.Config{Subject: o.Subject, Filter: o.Filter, Workers: o.Workers, Log: o.Log, Progress: o.Progress}
	switch source {
	case evidence.SourceCassette:
		cfg.Tapes = cassettes.FS
	case evidence.SourceSimulator:
	default:
		return Outcome{}, fmt.Errorf("source %s: nothing of the kind can be played", source)
	}
	p, err := program.New(cfg)
	if err != nil {
		return Outcome{}, err
	}
	if t == nil {
		return p.Run(ctx, nil, register)
	}
	return p.Run(ctx, t, register)
}

// SubjectInfo says what Run plays with when Options name no subject.
func SubjectInfo() report.Subject { return report.Subject{Name: "rkat", Kind: "in-process"} }

// ActAs makes this process the agent under test if it was started as one:
// resumed sessions run in a process of their own. It returns the exit code and
// whether it acted.
func ActAs(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) (code int, acted bool) {
	return play.ActAs(ctx, rkat.Run, args, stdin, stdout, stderr, env)
}

// Main is the TestMain of every package that plays.
func Main(m *testing.M) {
	if code, acted := ActAs(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()); acted {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// Test runs the specs that register adds as one test.
func Test(t *testing.T, register func(*program.Program)) {
	t.Helper()
	if _, err := run(t.Context(), t, Options{Log: t.Output()}, register); err != nil {
		t.Fatal(err)
	}
}
