package tool

import (
	"context"
	"errors"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Approve decides about one call of a tool before it starts. An error refuses the call;
// its text is what the model reads. It may wait for a person: the tool's own time
// begins afterwards. The definitions of the tools never depend on it.
type Approve func(ctx context.Context, call transcript.ToolCall, traits Traits) error

// Approved returns d with approve asked before each call.
func Approved(d Dispatcher, approve Approve) Dispatcher { return approved{d, approve} }

type approved struct {
	Dispatcher
	approve Approve
}

// Dispatch implements Dispatcher.
func (a approved) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	traits := TraitsOf(a.Dispatcher, call.Name)
	if err := a.approve(ctx, call, traits); err != nil {
		return NotExecuted(call.ID, err.Error())
	}
	if traits.Timeout <= 0 {
		return a.Dispatcher.Dispatch(ctx, call)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, traits.Timeout, errTimeout)
	defer cancel()
	done := make(chan transcript.ToolResult, 1)
	go func() {
		done <- recoverPanic(call, func() transcript.ToolResult { return a.Dispatcher.Dispatch(ctx, call) })
	}()
	result, there := awaitResult(ctx, done)
	switch {
	case there && (!result.IsError || ctx.Err() == nil):
		return result
	case errors.Is(context.Cause(ctx), errTimeout):
		return timeoutResult(call, traits.Timeout)
	case there:
		return result
	}
	return Interrupted(call.ID)
}

// Traits implements the optional interface of a Dispatcher. Dispatch keeps the time of
// a call, because the time that a person needs does not count.
func (a approved) Traits(name string) Traits {
	t := TraitsOf(a.Dispatcher, name)
	t.Timeout = 0
	return t
}
