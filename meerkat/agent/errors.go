package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// ErrNothingToContinue says that a session is complete, or empty, and no prompt
// was given.
var ErrNothingToContinue = errors.New("there is nothing to go on with; give a prompt")

// ErrPromptRefused says that the provider refused the last prompt, so that it is not
// sent again. It is an ErrNothingToContinue.
var ErrPromptRefused = fmt.Errorf("the provider refused the last prompt: %w", ErrNothingToContinue)

// RunError is every error of a run that has a session. The session on disk is
// legal and can be resumed, whatever Err is.
type RunError struct {
	SessionID session.ID
	Err       error
}

// Error names the session first.
func (e *RunError) Error() string { return fmt.Sprintf("session %s: %v", e.SessionID, e.Err) }

// Unwrap returns what went wrong: *TruncatedError, *RefusedError, *StopError,
// *TurnLimitError, *session.BudgetExceededError, *PrefixError, *MismatchError,
// *InterruptedError, ErrNothingToContinue, *provider.Error,
// *session.StorageError, or the error of the context.
func (e *RunError) Unwrap() error { return e.Err }

// PromptTooLongError says that a prompt exceeds Config.MaxPromptBytes. Nothing was
// sent or stored.
type PromptTooLongError struct{ Bytes, Limit int }

// Error names the limit.
func (e *PromptTooLongError) Error() string {
	return fmt.Sprintf(
		"prompt: it has %d bytes, and agent.max_prompt_bytes (MaxPromptBytes) allows %d; shorten it or raise the limit",
		e.Bytes, e.Limit,
	)
}

// TruncatedError says that the last reply was cut off. What arrived is kept;
// its tool calls were not executed.
type TruncatedError struct{ Stop transcript.StopReason }

// Error says which limit it was and what to do.
func (e *TruncatedError) Error() string {
	if e.Stop == transcript.StopContextWindow {
		return "the reply was cut off: the model's context window is full; compact the session or start a new one"
	}
	return "the reply was cut off at the output token limit; raise the limit and resume with a prompt"
}

// RefusedError says that the model declined or a filter stopped the reply.
type RefusedError struct{ Stop transcript.StopReason }

// Error says who stopped it.
func (e *RefusedError) Error() string {
	if e.Stop == transcript.StopContentFilter {
		return "the provider's content filter stopped the reply; change the prompt"
	}
	return "the model refused to answer; change the prompt"
}

// StopError says that a turn ended without an answer.
type StopError struct {
	Stop   transcript.StopReason
	Detail string
}

// Error names the stop reason.
func (e *StopError) Error() string { return fmt.Sprintf("stop reason %q: %s", e.Stop, e.Detail) }

// TurnLimitError says that the run made as many model calls as it may.
type TurnLimitError struct{ Limit int }

// Error says how to go on.
func (e *TurnLimitError) Error() string {
	if e.Limit == 1 {
		return "the limit of 1 turn is reached; resume to go on"
	}
	return fmt.Sprintf("the limit of %d turns is reached; resume to go on", e.Limit)
}

// PrefixError says that a request would not begin with what was sent before.
// Providers that bind their tokens to the conversation would refuse it.
type PrefixError struct{ Turn int }

// Error names the turn whose request is known to be different.
func (e *PrefixError) Error() string {
	return fmt.Sprintf(
		"what was sent in turn %d (system prompt, tools or messages) has been changed since; nothing was sent; restore the session or start a new one",
		e.Turn,
	)
}

// MismatchError says that a session cannot be resumed with what was asked for.
type MismatchError struct{ What, Stored, Asked string }

// Error names both values.
func (e *MismatchError) Error() string {
	return fmt.Sprintf(
		"its %s is %s and the client speaks to %s; name a model to change over", e.What, e.Stored, e.Asked,
	)
}

// InterruptedError says that tools were running when the session was last
// killed, and that the policy leaves the decision to a person. Nothing was
// written.
type InterruptedError struct{ Calls []transcript.CallRecord }

// Error names the calls and how to go on.
func (e *InterruptedError) Error() string {
	names := make([]string, len(e.Calls))
	for i, c := range e.Calls {
		names[i] = fmt.Sprintf("%s (%s)", c.Name, c.CallID)
	}
	return fmt.Sprintf("these tools may or may not have run when the session was interrupted: %s; check their effects, then resume with policy %q or %q",
		strings.Join(names, ", "), AskModel, RetryIdempotent)
}

// errCancelled is the end of a run by its context; it unwraps to the context's
// own error.
func errCancelled(c cause, during string) error {
	err := context.Canceled
	if c == causeLate {
		err = context.DeadlineExceeded
	}
	return fmt.Errorf("stopped %s: %w", during, err)
}

// ErrorKind names an error as the records of a session and the events of a run do.
func ErrorKind(err error) string {
	var (
		call     *provider.Error
		spent    *session.BudgetExceededError
		turns    *TurnLimitError
		cut      *TruncatedError
		refused  *RefusedError
		stop     *StopError
		prefix   *PrefixError
		mismatch *MismatchError
		running  *InterruptedError
		long     *PromptTooLongError
		storage  *session.StorageError
	)
	switch {
	case errors.As(err, new(*NotSmallerError)):
		return "not_smaller"
	case errors.As(err, &spent):
		return "budget_exceeded"
	case errors.As(err, &turns):
		return "turn_limit"
	case errors.As(err, &cut):
		return "truncated"
	case errors.As(err, &refused):
		return "refused"
	case errors.As(err, &stop):
		return "stop_reason"
	case errors.As(err, &prefix):
		return "prefix_changed"
	case errors.As(err, &mismatch):
		return "session_mismatch"
	case errors.As(err, &running):
		return "tools_interrupted"
	case errors.As(err, &storage):
		return "storage"
	case errors.As(err, &long):
		return "prompt_too_long"
	case errors.As(err, &call):
		return string(call.Kind)
	case errors.Is(err, ErrNothingToContinue):
		return "nothing_to_continue"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	default:
		return "internal"
	}
}
