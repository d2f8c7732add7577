package agent

import (
	"context"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// toolRunner runs the tools of one batch. Before and after each of them it waits
// for the loop, so that the start and the result are durable when they must be.
type toolRunner struct {
	requests chan toolRequest
	stopped  chan struct{} // closed when the loop has left
	cancel   context.CancelFunc
}

// toolRequest is an input that waits until its effects have been performed.
type toolRequest struct {
	in     input
	done   chan struct{}
	answer *submissionAnswer // of a submission
}

func (d *driver) startTools(ctx context.Context, e toolsEffect) *toolRunner {
	ctx, cancel := withTimeLimit(ctx, e.left)
	c := &toolRunner{requests: make(chan toolRequest), stopped: make(chan struct{}), cancel: cancel}
	observer := tool.Observer{
		Started: func(call transcript.ToolCall) { c.requestStep(toolStartInput{d.currentTime(), call.ID}) },
		Progress: func(call transcript.ToolCall, p tool.Progress) {
			c.requestStep(toolProgressInput{call, p})
		},
		Settled: func(call transcript.ToolCall, r transcript.ToolResult, o tool.Outcome) {
			c.requestStep(toolResultInput{d.currentTime(), call.ID, r, o, d.claimedResults(call.ID, o)})
		},
	}
	go func() {
		tool.DispatchAll(
			ctx, stoppableDispatcher{d.cfg.toolDispatcher(), c, d.callerContext(c), newSubmissionOrder(e.calls)},
			e.calls, d.cfg.MaxParallel, observer,
		)
		c.requestStep(toolsDoneInput{d.currentTime(), causeOf(ctx), d.currentTools(ctx)})
	}()
	return c
}

// currentTools returns the tools that exist now, nil if Config does not say or
// ctx has ended.
func (d *driver) currentTools(ctx context.Context) []transcript.ToolDef {
	if d.cfg.ToolsNow == nil || ctx.Err() != nil {
		return nil
	}
	return d.cfg.ToolsNow(ctx)
}

// requestStep returns when the loop has done what follows from in. answered is false
// when the loop has left.
func (c *toolRunner) requestStep(in input) (answer submissionAnswer, answered bool) {
	q := toolRequest{in, make(chan struct{}), new(submissionAnswer)}
	select {
	case c.requests <- q:
	case <-c.stopped:
		return answer, false
	}
	select {
	case <-q.done:
		return *q.answer, true
	case <-c.stopped:
		return answer, false
	}
}

// stop ends what is still running: its session can no longer be written.
func (c *toolRunner) stop() {
	if c != nil {
		close(c.stopped)
		c.cancel()
	}
}

// stoppableDispatcher runs no tool after the loop has left: its start could not be recorded.
type stoppableDispatcher struct {
	tool.Dispatcher
	runner *toolRunner
	// withCaller names the agent to its tools, nil if it has no operations.
	withCaller func(ctx context.Context, callID string) context.Context
	order      submissionOrder
}

// Traits implements tool.Describer.
func (v stoppableDispatcher) Traits(name string) tool.Traits {
	return tool.TraitsOf(v.Dispatcher, name)
}

// Dispatch implements tool.Dispatcher.
func (v stoppableDispatcher) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	select {
	case <-v.runner.stopped:
		return tool.NotExecuted(call.ID, "its start could not be recorded")
	default:
	}
	if v.withCaller != nil {
		ctx = v.withCaller(ctx, call.ID)
		defer v.order.awaitTurn(ctx, call)()
	}
	return v.Dispatcher.Dispatch(ctx, call)
}
