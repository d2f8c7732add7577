package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// CaseRun is what one run of a case brought home. It is plain data.
type CaseRun struct {
	Case Case
	// Name is the name of the case. With the simulator it ends in "@simulator".
	Name string
	// Source is what answered the agent.
	Source evidence.Source
	// Evidence is what the agent sent and got, and how its processes ended. It is
	// nil when Err is set before the first step.
	Evidence *evidence.Evidence
	// Cassette is the path of the cassette that answered, "" when none did.
	Cassette string
	// Deviations lists what did not go as scripted. The evidence then ends early.
	Deviations []string
	// Err is a fault of the harness: nothing can be said about the agent.
	Err error
	// Took is how long the run lasted.
	Took time.Duration
}

// Run runs c once with source, which is [evidence.SourceCassette] or
// [evidence.SourceSimulator]. What goes wrong is in the result.
func (r *Runner) Run(ctx context.Context, c Case, source evidence.Source) (run CaseRun) {
	began := time.Now()
	capture := newCapture(c, source)
	run.Case, run.Source, run.Name = c, source, capture.name
	defer func() {
		if cause := recover(); cause != nil {
			run.Err = fmt.Errorf("%s: the harness panicked: %v", c.Name(), cause)
		}
		run.Took = time.Since(began)
	}()
	upstream, err := capture.openSource(r.cassettes)
	if err != nil {
		run.Err = err
		return run
	}
	processes, err := r.runSteps(ctx, c, capture.countRequests(upstream), capture.beginStep)
	run.Err = errors.Join(err, capture.simulated.close())
	run.Evidence, run.Deviations = capture.finish(processes)
	run.Cassette = capture.cassettePath
	return run
}
