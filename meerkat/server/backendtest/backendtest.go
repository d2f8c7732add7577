// Package backendtest tests an implementation of server.Backend.
//
// The test of a backend calls [Run] with a function that opens an empty one:
//
//	func TestBackend(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T, e server.Execute, l server.BackendLimits) server.Backend {
//			return mybackend.Open(t, e, l)
//		})
//	}
//
// The contract is a list of checks. For example, two submissions with one key are one run,
// a session has one run at a time, and a reader gets every event or is told that some are
// missing. Each check uses its own backend and drains it.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Open returns an empty backend that calls execute.
type Open func(execute server.Execute, limits server.BackendLimits) server.Backend

// backendCheck is one point of the contract.
type backendCheck struct {
	Name string
	// Try returns how a backend breaks the contract, nil if it does not.
	Try func(ctx context.Context, open Open) error
}

// patience is how long a check waits for what must happen soon.
const patience = 2 * time.Minute

// Run runs every check as a subtest, each on an empty backend that open returns.
func Run(t *testing.T, open func(t *testing.T, execute server.Execute, limits server.BackendLimits) server.Backend) {
	t.Helper()
	for _, c := range backendChecks() {
		t.Run(c.Name, func(t *testing.T) {
			err := tryCheck(t.Context(), c, func(execute server.Execute, limits server.BackendLimits) server.Backend {
				return open(t, execute, limits)
			}, patience)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// tryCheck runs a check and drains the backend that it opened.
func tryCheck(ctx context.Context, c backendCheck, open Open, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var opened server.Backend
	err := c.Try(ctx, func(execute server.Execute, limits server.BackendLimits) server.Backend {
		opened = open(execute, limits)
		return opened
	})
	over, end := context.WithCancel(ctx)
	end()
	return errors.Join(err, opened.Drain(over))
}

// backendChecks returns the whole contract.
func backendChecks() []backendCheck {
	return []backendCheck{
		{"a run is executed once as it was accepted, and its outcome is kept", checkExecuted},
		{"a repeated key is the same run", checkRepeatedKey},
		{"a repeated key is the same run, although nothing else is accepted", checkRepeatedWhenFull},
		{"a key that comes 50 times at once is one run", checkConcurrentKey},
		{"a key with another request is refused", checkReusedKey},
		{"a session has one run at a time", checkBusySession},
		{"more runs than the limit are refused", checkFull},
		{"what does not exist is not found", checkNotFound},
		{"waiting ends with the context", checkWaitEnds},
		{"runs are listed by session, the newest first, page by page", checkRunPages},
		{"active runs are those that have not ended", checkActive},
		{"an interrupt ends the run of its session, and says why", checkInterrupt},
		{"a run learns of each operation to cancel, also of those that came before it asked", checkCancel},
		{"events are read in order from any position", checkEvents},
		{"a reader waits for the next event", checkFollow},
		{"sessions have logs of their own", checkLogsApart},
		{"events that are no longer kept are a gap", checkGap},
		{"a position of another log is a gap", checkForeignPosition},
		{"steering is taken once, in order", checkSteering},
		{"steering beyond the limit is refused", checkSteeringFull},
		{"steering that no turn took ends with its run", checkSteeringEnds},
		{"forgotten is gone, and a session that runs is not forgotten", checkForget},
		{"a drain waits for runs and accepts none", checkDrain},
		{"a drain that runs out of time cuts runs off", checkDrainCuts},
		{"a run that panics fails alone", checkPanic},
	}
}

// worker executes runs as a check tells it to.
type worker struct {
	begun chan server.Run
	// finish lets one run end with an outcome.
	finish chan server.Outcome
	// during is called in each run before it waits for finish; it may be nil.
	during func(server.Run, server.Control)
	// causes receives why contexts ended.
	causes chan error
}

func newWorker() *worker {
	return &worker{begun: make(chan server.Run, 64), finish: make(chan server.Outcome), causes: make(chan error, 64)}
}

func (w *worker) executeRun(ctx context.Context, r server.Run, c server.Control) server.Outcome {
	w.begun <- r
	if w.during != nil {
		w.during(r, c)
	}
	select {
	case out := <-w.finish:
		return out
	case <-ctx.Done():
		w.causes <- context.Cause(ctx)
		return server.Outcome{Status: server.StatusInterrupted, ErrorKind: "interrupted", Error: "stopped"}
	}
}

// finishRun lets one run complete with text.
func (w *worker) finishRun(ctx context.Context, text string) error {
	select {
	case w.finish <- server.Outcome{Status: server.StatusCompleted, Text: text}:
		return nil
	case <-ctx.Done():
		return errors.New("no run waits to be finished")
	}
}

// awaitBegun returns the next run that begins.
func (w *worker) awaitBegun(ctx context.Context) (server.Run, error) {
	select {
	case r := <-w.begun:
		return r, nil
	case <-ctx.Done():
		return server.Run{}, errors.New("no run begins")
	}
}

// numberedSession returns the id of the n-th session.
func numberedSession(n int) session.ID {
	return session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n))
}

// submitRun submits a run that must be accepted.
func submitRun(ctx context.Context, b server.Backend, id session.ID, prompt, key string) (server.Run, error) {
	r, _, err := b.Submit(ctx, server.Submission{Session: id, Key: key, Task: server.Task{Prompt: prompt}})
	if err != nil {
		return r, fmt.Errorf("Submit of %q: %w", prompt, err)
	}
	return r, nil
}

// submitBegun submits a run and waits until it is executed.
func submitBegun(ctx context.Context, b server.Backend, w *worker, id session.ID, prompt string) (server.Run, error) {
	r, err := submitRun(ctx, b, id, prompt, "")
	if err != nil {
		return r, err
	}
	begun, err := w.awaitBegun(ctx)
	if err == nil && begun.ID != r.ID {
		err = fmt.Errorf("run %s was accepted and %s begins", r.ID, begun.ID)
	}
	return r, err
}

// awaitEnd waits for a run, which must have the status then.
func awaitEnd(ctx context.Context, b server.Backend, id server.RunID, want server.Status) (server.Run, error) {
	r, err := b.Wait(ctx, id)
	if err == nil && r.Status != want {
		err = fmt.Errorf("run %s is %s after Wait; want %s", id, r.Status, want)
	}
	return r, err
}

// expectError returns an error unless have is an E.
func expectError[E error](what string, have error) error {
	var want E
	if !errors.As(have, &want) {
		return fmt.Errorf("%s: the error is %v; want a %T", what, have, want)
	}
	return nil
}
