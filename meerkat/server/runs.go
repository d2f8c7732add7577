package server

import (
	"context"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// DefaultMaxRuns is how many runs go on at once if nothing else is said.
const DefaultMaxRuns = 16

// Runs knows the runs that are under way in this process. It is safe for concurrent
// use; the zero Runs allow DefaultMaxRuns.
type Runs struct {
	// Max is how many runs go on at once; 0: DefaultMaxRuns.
	Max int

	mu        sync.Mutex
	count     int
	bySession map[session.ID]context.CancelCauseFunc
}

// ActiveRun is one that is under way.
type ActiveRun struct {
	runs   *Runs
	cancel context.CancelCauseFunc

	id    session.ID // guarded by runs.mu
	ended bool
}

// Begin registers a run. It works under the context that is returned, and its caller
// calls End. *FullError if Max are under way. id may be "" until [ActiveRun.SetSession] says it.
func (r *Runs) Begin(ctx context.Context, id session.ID) (context.Context, *ActiveRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := r.Max
	if limit <= 0 {
		limit = DefaultMaxRuns
	}
	if r.count >= limit {
		return nil, nil, &FullError{r.count}
	}
	r.count++
	ctx, cancel := context.WithCancelCause(ctx)
	run := &ActiveRun{runs: r, cancel: cancel}
	run.registerSession(id)
	return ctx, run, nil
}

// SetSession says which session the run works on.
func (n *ActiveRun) SetSession(id session.ID) {
	n.runs.mu.Lock()
	defer n.runs.mu.Unlock()
	n.registerSession(id)
}

// registerSession is SetSession for a caller that holds the lock. A session has one run; a
// second one fails on the lock of the session and must not replace the first here.
func (n *ActiveRun) registerSession(id session.ID) {
	if id == "" || n.id != "" || n.ended || n.runs.bySession[id] != nil {
		return
	}
	if n.runs.bySession == nil {
		n.runs.bySession = map[session.ID]context.CancelCauseFunc{}
	}
	n.id, n.runs.bySession[id] = id, n.cancel
}

// End says that the run is over.
func (n *ActiveRun) End() {
	n.runs.mu.Lock()
	defer n.runs.mu.Unlock()
	if n.ended {
		return
	}
	n.ended = true
	n.runs.count--
	if n.id != "" {
		delete(n.runs.bySession, n.id)
	}
	n.cancel(nil)
}

// Interrupt ends the run of a session and reports whether there was one.
func (r *Runs) Interrupt(id session.ID) bool {
	r.mu.Lock()
	cancel := r.bySession[id]
	r.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(ErrInterrupted)
	return true
}

// Running reports whether a run of the session is under way in this process.
func (r *Runs) Running(id session.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bySession[id] != nil
}
