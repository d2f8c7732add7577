package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy"
)

// CaseRun is what one run of a case brought home. It is plain data.
type CaseRun struct {
	Permutation
	// Name is the name of the permutation.
	Name string
	// Evidence is what the agent sent and got, and how its processes ended. It is
	// nil when Err is set before the first step.
	Evidence *evidence.Evidence
	// Cassette is the path of the cassette that answered, or in which a live case was
	// kept; "" when there is none.
	Cassette string
	// Shortfall says why a provider's model did not get as far as the case asks, through
	// no fault of the agent. Nothing then passes.
	Shortfall string
	// Deviations lists what did not go as scripted. The evidence then ends early.
	Deviations []string
	// Notices say what the proxy did not let through: hosts that are not a provider's,
	// clients that do not trust its certificate.
	Notices []proxy.Notice
	// Effects are what the agent did beside its conversation: processes that it left
	// behind, files outside its folders.
	Effects []string
	// NotApplicable says why nothing can be said about the agent in this case, ""
	// when something can.
	NotApplicable string
	// Calls are the calls of the agent to a model; [Run] counts them.
	Calls report.Calls
	// Err is a fault of the harness: nothing can be said about the agent.
	Err error
	// Unsupported is why the agent cannot run the case, as it said itself. Nothing is
	// judged then.
	Unsupported string
	// Took is how long the run lasted.
	Took time.Duration
}

// Run runs p once. What goes wrong is in the result. A real model that did not do what
// it was asked to do is asked once more, from the start.
func (r *Runner) Run(ctx context.Context, p Permutation) CaseRun {
	if err := r.guard.trippedErr(); err != nil {
		return CaseRun{Permutation: p, Name: p.Name(), Err: err}
	}
	ctx, release := r.guard.attachContext(ctx)
	defer release()
	run, again := r.runOnce(ctx, p)
	if again && ctx.Err() == nil {
		if run, again = r.runOnce(ctx, p); again {
			run.Shortfall += "; it was asked twice"
		}
	}
	if err := r.guard.trippedErr(); err != nil {
		run.Err = err
	}
	return run
}

// runOnce reports also whether another try may help.
func (r *Runner) runOnce(ctx context.Context, p Permutation) (run CaseRun, again bool) {
	began := time.Now()
	capture := newCapture(p, r.seedOf(p.Source), r.Subject.About())
	run.Permutation, run.Name = p, p.Name()
	defer func() {
		if cause := recover(); cause != nil {
			run.Err = fmt.Errorf("%s: the harness panicked: %v", p.Name(), cause)
		}
		run.Took = time.Since(began)
	}()
	upstream, err := capture.openSource(r.Cassettes, r.live)
	if err != nil {
		run.Err = err
		return run, false
	}
	processes, err := r.runSteps(ctx, p, capture.countRequests(upstream), capture)
	if unsupported := (*UnsupportedError)(nil); errors.As(err, &unsupported) {
		run.Unsupported, err = unsupported.Reason, nil
	}
	run.Err = errors.Join(err, capture.steps.close())
	run.Evidence, run.Deviations = capture.finish(processes)
	run.Evidence.Prices = r.Prices
	if run.Unsupported == "" {
		run.Unsupported = calledElsewhere(p.Case.Target.Provider, run.Evidence)
	}
	if run.NotApplicable = capture.missingTools(); run.NotApplicable != "" {
		run.Deviations = []string{run.NotApplicable}
	}
	run.Cassette, run.Notices, run.Effects = capture.cassettePath, capture.notices, capture.effects
	if capture.live == nil {
		return run, false
	}
	short := liveShortfall(run.Evidence, p.Case.Steps(capture.seed), capture.about.Tools)
	run.Shortfall = short.reason
	run.Cassette, err = capture.live.close()
	run.Err = errors.Join(run.Err, err)
	return run, short.isModels
}

// Summary is what a report says of the run beside its results.
func (run CaseRun) Summary(results []report.Result) report.CaseSummary {
	s := run.caseSummary()
	facts := decide.CaseFacts{NotRun: run.Unsupported != "", Deviated: len(run.Deviations) > 0 || run.Shortfall != ""}
	for _, result := range results {
		facts.Results = append(facts.Results, result.Verdict)
	}
	hasFailed := slices.Contains(facts.Results, report.Fail)
	switch s.Reason = run.Unsupported; {
	case run.Unsupported != "":
	case run.NotApplicable != "" && !hasFailed:
		s.Reason, facts.NotRun = run.NotApplicable, true
	case run.Shortfall != "":
		s.Deviations = append([]string{run.Shortfall}, run.Deviations...)
	default:
		s.Deviations = run.Deviations
	}
	if run.Unsupported == "" {
		s.DurationMS, s.Effects = run.Took.Milliseconds(), run.Effects
	}
	s.Verdict = decide.Case(facts)
	return s
}

// Hosts are the foreign hosts that the agent tried to reach.
func (run CaseRun) Hosts() []report.Host {
	var hosts []report.Host
	for _, n := range run.Notices {
		if n.Kind == proxy.Refused && n.Host != "" {
			hosts = report.AddHosts(hosts, report.Host{Name: n.Host, Attempts: 1})
		}
	}
	return hosts
}
