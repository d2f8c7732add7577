package server

import (
	"context"
	"encoding/json"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Backend is what the replicas of one server share: the runs that clients asked for, what
// became of them, and the events of sessions. [NewLocal] returns one that lives in this
// process; TestBackend holds every Backend to this contract.
//
// A Backend is given an [Execute] function and calls it for each run, in this process or
// in another replica. Every method is safe for concurrent use.
type Backend interface {
	RunQueue
	EventLog
	SteeringQueue
}

// RunQueue accepts runs and says what became of them.
type RunQueue interface {
	// Submit accepts a run. A request that repeats the key of an earlier one returns
	// the run of that one, and repeated is true. *KeyReusedError if the key came with
	// another request, *BusyError if a run of the session has not ended, *FullError if
	// no more runs are accepted for now, ErrDraining. An error means that nothing was
	// accepted.
	Submit(ctx context.Context, s Submission) (r Run, repeated bool, err error)
	// Run returns a run as it is now. *RunNotFoundError.
	Run(ctx context.Context, id RunID) (Run, error)
	// Wait returns a run when it has ended. When ctx ends first, it returns the run as it
	// is then, without an error.
	// *RunNotFoundError.
	Wait(ctx context.Context, id RunID) (Run, error)
	// Runs returns at most limit runs of a session, the newest first, and only those
	// before the run `before` unless that is "". Old runs may be forgotten, `before` among
	// them.
	Runs(ctx context.Context, id session.ID, before RunID, limit int) ([]Run, error)
	// Active returns the runs that have not ended, the oldest first.
	Active(ctx context.Context) ([]Run, error)
	// Interrupt ends the run of a session that has not ended, and returns it as it was.
	// It does not wait: the run ends soon, and its status becomes StatusInterrupted.
	// *NotRunningError.
	Interrupt(ctx context.Context, id session.ID) (Run, error)
	// CancelOperation asks the run of a session that has not ended to cancel an operation,
	// such as a sub-agent, with all that it has started. It does not wait, and an operation
	// that the run does not know, or that has ended, stays as it is. *NotRunningError.
	CancelOperation(ctx context.Context, id, operation session.ID) (Run, error)
	// Forget removes runs, events and steering of a session. *BusyError.
	Forget(ctx context.Context, id session.ID) error
	// Drain ends the work of this process: it accepts no more runs, waits for those
	// that it executes, and when ctx ends it interrupts them with ErrDraining as the
	// cause. When it returns, no Execute is under way in this process. Runs that were
	// cut off go on in another replica, if there can be one; otherwise they end as
	// interrupted, and their sessions can be resumed.
	Drain(ctx context.Context) error
}

// EventLog is an ordered log of events for each session.
type EventLog interface {
	// Events returns at most limit events after a position, the oldest first, and waits
	// until there is one. When ctx ends it returns an empty page and no error. A reader
	// that stops reading holds nothing in the log.
	Events(ctx context.Context, id session.ID, after Position, limit int) (EventPage, error)
}

// SteeringQueue holds what clients say to runs that are under way.
type SteeringQueue interface {
	// Steer queues a message for the run of a session, which takes it before its next
	// call of the model. *NotRunningError, *SteeringFullError.
	Steer(ctx context.Context, id session.ID, text string) (Steering, error)
	// Steerings returns the messages of the last run of a session, the oldest first.
	Steerings(ctx context.Context, id session.ID) ([]Steering, error)
}

// Execute performs one attempt of a run and returns what came of it. It stops soon after
// ctx ends; context.Cause says why: ErrInterrupted or ErrDraining.
type Execute func(ctx context.Context, r Run, c Control) Outcome

// Control is what a run has of its backend while it is executed. It is safe for
// concurrent use until Execute returns.
type Control interface {
	// Append adds an event to the log of the session. What cannot be kept is a gap in
	// the log; the run goes on.
	Append(kind string, data json.RawMessage)
	// TakeSteering returns the messages that are queued for the run, the oldest first,
	// and marks them as applied. Each is returned once.
	TakeSteering() []Steering
	// OnCancel calls cancel with each operation of the run that clients ask to cancel, and
	// at once with those that they asked for before. An operation may come more than once.
	// Cancel is called from any goroutine, must not wait, and is called no more when Execute
	// has returned. OnCancel is called once.
	OnCancel(cancel func(operation session.ID))
}

// BackendLimits bound what a Backend holds. Zero fields mean the defaults.
type BackendLimits struct {
	// Runs that have not ended; more are refused.
	Runs int
	// Events and EventBytes are what is kept of a session's log; the oldest go first.
	Events     int
	EventBytes int
	// Steering messages that a run has not taken; more are refused.
	Steering int
}

// The defaults of BackendLimits.
const (
	DefaultKeptEvents     = 4096
	DefaultKeptEventBytes = 4 << 20
	DefaultSteering       = 16
)

// WithDefaults returns l with the defaults in place of zeros.
func (l BackendLimits) WithDefaults() BackendLimits {
	for _, f := range []struct {
		have *int
		want int
	}{{&l.Runs, DefaultMaxRuns}, {&l.Events, DefaultKeptEvents}, {&l.EventBytes, DefaultKeptEventBytes},
		{&l.Steering, DefaultSteering}} {
		if *f.have <= 0 {
			*f.have = f.want
		}
	}
	return l
}
