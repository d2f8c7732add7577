package server

import (
	"errors"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Why the context of a run ends.
var (
	// ErrInterrupted: a client asked for it.
	ErrInterrupted = errors.New("interrupted by a client")
	// ErrDraining: the server stops. Submit returns it, too.
	ErrDraining = errors.New("the server is stopping; try again soon")
)

// KeyReusedError says that an idempotency key was used for another request.
type KeyReusedError struct{ Key string }

// Error says what to do.
func (e *KeyReusedError) Error() string {
	return fmt.Sprintf(
		"idempotency key %.80q: it came with another request before; use a fresh key for each request", e.Key,
	)
}

// BusyError says that a session has a run that has not ended.
type BusyError struct {
	Session session.ID
	Run     RunID
}

// Error names the run and what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s: run %s is under way; wait for it or interrupt it", e.Session, e.Run)
}

// FullError says that a server has as many runs as it accepts.
type FullError struct{ Limit int }

// Error says what to do.
func (e *FullError) Error() string {
	return fmt.Sprintf("server: %d runs are under way and no more are accepted; wait for one or interrupt it", e.Limit)
}

// SteeringFullError says that a run has not taken the messages that are queued for it.
type SteeringFullError struct {
	Session session.ID
	Limit   int
}

// Error says what to do.
func (e *SteeringFullError) Error() string {
	return fmt.Sprintf(
		"session %s: %d messages wait for its next turn and no more are queued; wait until they are applied",
		e.Session, e.Limit,
	)
}

// NotRunningError says that a session has no run that has not ended.
type NotRunningError struct{ Session session.ID }

// Error says what to do.
func (e *NotRunningError) Error() string {
	return fmt.Sprintf("session %s: no run is under way; start one", e.Session)
}

// RunNotFoundError says that a run is not known, or no longer.
type RunNotFoundError struct{ Run RunID }

// Error names the run.
func (e *RunNotFoundError) Error() string {
	return fmt.Sprintf(
		"run %.80q: not found; the runs of its session are listed, and their records are in its history",
		string(e.Run),
	)
}
