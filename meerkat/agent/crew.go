package agent

import (
	"context"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// crew runs the tools of one batch and asks the loop before and after each of
// them, so that what must be durable is.
type crew struct {
	inbox  chan question
	gone   chan struct{} // closed when the loop has left
	cancel context.CancelFunc
}

// question is an input that waits until its effects have been performed.
type question struct {
	in   input
	done chan struct{}
}

func (d *driver) dispatch(ctx context.Context, e dispatch) *crew {
	ctx, cancel := bounded(ctx, e.left)
	c := &crew{inbox: make(chan question), gone: make(chan struct{}), cancel: cancel}
	observer := tool.Observer{
		Started: func(call transcript.ToolCall) { c.ask(starting{d.now(), call.ID}) },
		Progress: func(call transcript.ToolCall, p tool.Progress) {
			c.ask(progressed{call, p})
		},
		Settled: func(call transcript.ToolCall, r transcript.ToolResult, o tool.Outcome) {
			c.ask(settled{d.now(), call.ID, r, o})
		},
	}
	go func() {
		tool.DispatchAll(ctx, vetoed{d.cfg.tools(), c}, e.calls, d.cfg.MaxParallel, observer)
		c.ask(answered{d.now(), causeOf(ctx), d.offers(ctx)})
	}()
	return c
}

// offers asks which tools there are now.
func (d *driver) offers(ctx context.Context) []transcript.ToolDef {
	if d.cfg.ToolsNow == nil || ctx.Err() != nil {
		return nil
	}
	return d.cfg.ToolsNow(ctx)
}

// next waits for the crew.
func (c *crew) next() (input, func()) {
	q := <-c.inbox
	return q.in, func() { close(q.done) }
}

// ask returns when the loop has done what follows from in, or has left.
func (c *crew) ask(in input) {
	q := question{in, make(chan struct{})}
	select {
	case c.inbox <- q:
	case <-c.gone:
		return
	}
	select {
	case <-q.done:
	case <-c.gone:
	}
}

// disband ends what is still running: its session can no longer be written.
func (c *crew) disband() {
	if c != nil {
		close(c.gone)
		c.cancel()
	}
}

// vetoed runs no tool after the loop has left: its start could not be recorded.
type vetoed struct {
	tool.Dispatcher
	crew *crew
}

// Traits implements tool.Describer.
func (v vetoed) Traits(name string) tool.Traits { return tool.TraitsOf(v.Dispatcher, name) }

// Dispatch implements tool.Dispatcher.
func (v vetoed) Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	select {
	case <-v.crew.gone:
		return tool.NotExecuted(call.ID, "its start could not be recorded")
	default:
		return v.Dispatcher.Dispatch(ctx, call)
	}
}
