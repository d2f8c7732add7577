package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// What a Local keeps of runs that have ended, over all sessions: so many, and so many
// bytes of them and of their events. The oldest are forgotten first.
const (
	maxEndedRuns = 10_000
	maxKeptBytes = 256 << 20
)

// LocalOptions are the parts of a Local that a test replaces.
type LocalOptions struct {
	BackendLimits
	Now   func() time.Time       // nil: time.Now
	NewID func() (string, error) // nil: UUIDs of version 7
}

// Local is a [Backend] within this process. What it holds ends with the process;
// sessions do not.
type Local struct {
	execute Execute
	options LocalOptions
	runs    *Runs

	base      context.Context //nolint:containedctx // that of the runs, which outlive the requests that submit them
	cancelAll context.CancelCauseFunc

	mu        sync.Mutex
	draining  bool
	byID      map[RunID]*localRun
	bySession map[session.ID]*localSession
	keys      map[string]*localRun
	active    []*localRun // the oldest first
	ended     []*localRun // the one that ended first is the first
	bytes     int         // of what is kept
	name      string      // of this process, in the names of its logs
	lost      int         // logs with events that were dropped; later logs have another name
	idle      chan struct{}
}

// localRun is a run with what only its backend knows. Its fields are guarded by the
// lock of the Local.
type localRun struct {
	Run
	key, fingerprint string
	done             chan struct{} // closed when the run has ended
	cancelled        []session.ID  // operations that clients asked to cancel
	onCancel         func(operation session.ID)
}

// localSession is what a Local knows of a session.
type localSession struct {
	runs     []*localRun // the oldest first
	log      localLog
	steering []Steering // of the last run
	readers  int
}

// NewLocal returns a Backend that calls execute in this process.
func NewLocal(execute Execute, o LocalOptions) *Local {
	o.BackendLimits = o.WithDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newUUID
	}
	l := &Local{
		execute: execute, options: o, runs: &Runs{Max: o.Runs},
		byID: map[RunID]*localRun{}, bySession: map[session.ID]*localSession{}, keys: map[string]*localRun{},
	}
	l.base, l.cancelAll = context.WithCancelCause(context.Background())
	return l
}

func newUUID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("server: no randomness for an id: %w", err)
	}
	return id.String(), nil
}

// Submit implements RunQueue.
func (l *Local) Submit(_ context.Context, s Submission) (Run, bool, error) {
	fingerprint, err := s.Fingerprint()
	if err != nil {
		return Run{}, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if earlier := l.keys[s.Key]; s.Key != "" && earlier != nil {
		if earlier.fingerprint != fingerprint {
			return Run{}, false, &KeyReusedError{s.Key}
		}
		return earlier.Run, true, nil
	}
	if l.draining {
		return Run{}, false, ErrDraining
	}
	if busy := l.unendedRun(s.Session); busy != nil {
		return Run{}, false, &BusyError{s.Session, busy.ID}
	}
	run, err := l.newRun(s)
	if err != nil {
		return Run{}, false, err
	}
	run.fingerprint = fingerprint
	return run.Run, false, l.startRun(run)
}

// newRun returns the run of a submission.
func (l *Local) newRun(s Submission) (*localRun, error) {
	id, err := l.options.NewID()
	if err != nil {
		return nil, err
	}
	run := &localRun{key: s.Key, done: make(chan struct{}), Run: Run{
		ID: RunID(id), Session: s.Session, New: s.New || s.Session == "", Status: StatusQueued, Task: s.Task,
		Attempt: 1, Created: l.currentTime(),
	}}
	if run.Session == "" {
		if id, err = l.options.NewID(); err != nil {
			return nil, err
		}
		run.Session = session.ID(id)
	}
	return run, nil
}

func (l *Local) currentTime() time.Time { return l.options.Now().UTC().Round(0) }

// startRun registers a run and executes it. The caller holds the lock.
func (l *Local) startRun(run *localRun) error {
	ctx, handle, err := l.runs.Begin(l.base, run.Session)
	if err != nil {
		return err
	}
	s, err := l.sessionState(run.Session)
	if err != nil {
		handle.End()
		return err
	}
	s.runs, s.steering = append(s.runs, run), nil
	l.byID[run.ID] = run
	l.active = append(l.active, run)
	if run.key != "" {
		l.keys[run.key] = run
	}
	go l.performRun(ctx, run, handle)
	return nil
}

// performRun executes a run to its end.
func (l *Local) performRun(ctx context.Context, run *localRun, handle *ActiveRun) {
	l.mu.Lock()
	run.Status, run.Started = StatusRunning, l.currentTime()
	begun := run.Run
	l.mu.Unlock()
	c := &localControl{local: l, run: run}
	outcome := executeSafely(ctx, l.execute, begun, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	c.over, run.onCancel = true, nil
	handle.End()
	l.endRun(run, outcome)
}

// executeSafely calls execute. A panic is a failure of the run, not of the server.
func executeSafely(ctx context.Context, execute Execute, r Run, c Control) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = Outcome{
				Status: StatusFailed, ErrorKind: "internal",
				Error: fmt.Sprintf("run %s: the program failed: %v; resume the session", r.ID, p),
			}
		}
	}()
	if out = execute(ctx, r, c); !out.Status.Ended() {
		out.Status = StatusFailed
	}
	return out
}

// endRun keeps what came of a run. The caller holds the lock.
func (l *Local) endRun(run *localRun, outcome Outcome) {
	run.Status, run.Ended, run.Outcome = outcome.Status, l.currentTime(), &outcome
	run.Task.Attached = nil // the session holds it
	s := l.bySession[run.Session]
	for i := range s.steering {
		s.steering[i].Status = s.steering[i].Status.AfterRun(run.Status)
	}
	l.active = slices.DeleteFunc(l.active, func(r *localRun) bool { return r == run })
	l.ended = append(l.ended, run)
	l.bytes += run.keptBytes()
	close(run.done)
	for len(l.ended) > maxEndedRuns || l.bytes > maxKeptBytes && len(l.ended) > 0 {
		l.forgetRun(l.ended[0])
	}
	if len(l.active) == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// keptBytes is about how many bytes a run takes that has ended.
func (r *localRun) keptBytes() int {
	return 1<<10 + len(r.Task.Prompt) + len(r.Task.System) + len(r.Outcome.Text) + len(r.Outcome.Error)
}

// forgetRun drops a run that has ended. The caller holds the lock.
func (l *Local) forgetRun(run *localRun) {
	isRun := func(r *localRun) bool { return r == run }
	l.ended = slices.DeleteFunc(l.ended, isRun)
	delete(l.byID, run.ID)
	if l.keys[run.key] == run {
		delete(l.keys, run.key)
	}
	l.bytes -= run.keptBytes()
	s := l.bySession[run.Session]
	if s.runs = slices.DeleteFunc(s.runs, isRun); len(s.runs) == 0 {
		l.dropLog(run.Session, s)
	}
}

// dropLog forgets the events of a session without runs. Readers that wait learn of it.
func (l *Local) dropLog(id session.ID, s *localSession) {
	l.bytes -= s.log.bytes
	if s.log.last > 0 {
		l.lost++
	}
	close(s.log.changed)
	delete(l.bySession, id)
}

// sessionState returns what is known of a session, and begins to know it.
func (l *Local) sessionState(id session.ID) (*localSession, error) {
	if s := l.bySession[id]; s != nil {
		return s, nil
	}
	if l.name == "" {
		name, err := l.options.NewID()
		if err != nil {
			return nil, err
		}
		l.name = name
	}
	s := &localSession{log: localLog{name: fmt.Sprintf("%s-%d", l.name, l.lost), changed: make(chan struct{})}}
	l.bySession[id] = s
	return s, nil
}

// unendedRun returns the run of a session that has not ended, nil if there is none.
func (l *Local) unendedRun(id session.ID) *localRun {
	if s := l.bySession[id]; s != nil && len(s.runs) > 0 {
		if last := s.runs[len(s.runs)-1]; !last.Status.Ended() {
			return last
		}
	}
	return nil
}
