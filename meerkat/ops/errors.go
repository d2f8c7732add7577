package ops

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// LimitError says that an operation was not submitted because a limit is reached.
type LimitError struct {
	What  string // "sub-agents", "operations", "operations of this agent" or "levels"
	Limit int
	// Open is how many there are that have not ended, Asked how many more were asked for.
	Open, Asked int
	// Setting is the setting that raises the limit.
	Setting string
}

// Error says what to do.
func (e *LimitError) Error() string {
	switch {
	case e.What == whatLevels && e.Limit <= 0:
		return "this agent cannot start sub-agents; do the work yourself"
	case e.What == whatLevels:
		return fmt.Sprintf(
			"sub-agents may be nested %d deep, and this agent is at that depth already; do the work yourself", e.Limit,
		)
	}
	return fmt.Sprintf(
		"at most %d %s may be open at a time (%s); %d are, and %d more were asked for; await or cancel some, or ask for fewer",
		e.Limit, e.What, e.Setting, e.Open, e.Asked,
	)
}

const (
	whatLevels   = "levels"
	whatAgents   = "sub-agents"
	whatOps      = "operations"
	whatChildren = "operations of this agent"
)

// UnknownOperationError says that an agent has no operation of that name.
type UnknownOperationError struct {
	Name string
	// Hint ends the message: what was probably meant, or what there is.
	Hint string
}

// Error names the operation first.
func (e *UnknownOperationError) Error() string {
	return fmt.Sprintf("operation %q: not known to this agent%s", e.Name, e.Hint)
}

// CycleError says that operations depend on one another in a circle.
type CycleError struct{ IDs []OperationID }

// Error lists the circle.
func (e *CycleError) Error() string {
	names := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		names[i] = string(id)
	}
	return "operations depend on one another in a circle, so that none could start: " + strings.Join(names, " → ") +
		"; remove one dependency"
}

// DependencyError says that an operation depends on one that has not completed and never
// will.
type DependencyError struct {
	Operation, On OperationID
	Status        OpStatus
}

// Error names both operations.
func (e *DependencyError) Error() string {
	return fmt.Sprintf("operation %s depends on operation %s, which is %s", e.Operation, e.On, e.Status)
}

// SteerError says why a directive was not queued.
type SteerError struct {
	ID     OperationID
	Reason string
}

// Error names the operation first.
func (e *SteerError) Error() string { return fmt.Sprintf("operation %s: %s", e.ID, e.Reason) }

// EndedError says that an operation has ended and cannot be cancelled.
type EndedError struct {
	ID     OperationID
	Status OpStatus
}

// Error names the operation first.
func (e *EndedError) Error() string {
	return fmt.Sprintf("operation %s: it is %s already", e.ID, e.Status)
}

// errCancelled is why the context of an operation ended that was asked to end.
var errCancelled = errors.New("the operation was cancelled")

// timeoutError is why the context of an operation ended that took too long.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("it did not end within its time of %s and was stopped", e.limit)
}
