package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// driver performs the effects of one run. It decides nothing.
type driver struct {
	cfg    Config
	writer session.Writer
	sink   *eventSink
	state  state
	stamp  eventStamp  // of what is reported now
	turnID string      // of stamp
	tools  *toolRunner // the tools that are running
	node   *ops.Node   // nil: the agent has no operations

	clock sync.Mutex // tools ask for the time as well
	last  time.Time
}

func (c Config) driveRun(ctx context.Context, s session.Session, w session.Writer, prompt string,
	set settings) (Result, error) {
	runID, err := c.NewRunID()
	if err == nil {
		err = c.restrictTools(ctx, s.Parent)
	}
	if err != nil {
		return Result{SessionID: s.ID}, &RunError{s.ID, errors.Join(err, w.Close())}
	}
	c, ctx = c.withOperations(ctx, &s)
	d := &driver{
		cfg: c, sink: newEventSink(c.OnEvent, c.EventBuffer), state: state{settings: set, session: s, runID: runID},
	}
	defer d.sink.close()
	err = d.runAndClose(ctx, w, prompt)
	result := d.state.runResult()
	d.emitEvent(finalEvent(&result, err))
	if err != nil {
		return result, &RunError{s.ID, err}
	}
	return result, nil
}

// runAndClose performs the run and closes its session, also when a listener or a
// client panics: a caller that recovers finds the session unlocked.
func (d *driver) runAndClose(ctx context.Context, w session.Writer, prompt string) (err error) {
	defer func() {
		if closing := w.Close(); err == nil {
			err = session.WrapStorage(closing)
		}
	}()
	d.writer = w

	// Take the place of the agent in its tree.
	if d.cfg.Operations != nil {
		place := ops.Place{ID: d.state.session.ID}
		if p := d.state.session.Parent; p != nil {
			place.Depth, place.NoSpawn = p.Depth, p.NoSpawn
		}
		d.node = d.cfg.Operations.Join(ctx, place)
	}
	defer func() {
		// Stop what still runs and wait for it.
		if d.node != nil {
			d.node.Leave(err == nil)
		}
	}()
	d.emitEvent(Event{Type: RunStarted, Prompt: prompt, TraceParent: d.cfg.TraceParent, TraceState: d.cfg.TraceState})
	return d.runLoop(ctx, beginInput{d.currentTime(), d.state.runID, prompt})
}

// currentTime returns the time. Within a run it never goes back, even if the
// clock does.
func (d *driver) currentTime() time.Time {
	d.clock.Lock()
	defer d.clock.Unlock()
	if now := d.cfg.currentTime(); now.After(d.last) {
		d.last = now
	}
	return d.last
}

// finalEvent is the last event of a run.
func finalEvent(r *Result, err error) Event {
	e := Event{Type: RunCompleted, Result: r.Text, StopReason: r.StopReason, Usage: &r.Usage}
	if err == nil {
		return e
	}
	e.Type, e.Error, e.ErrorKind = RunFailed, err.Error(), ErrorKind(err)
	if errors.Is(err, context.Canceled) {
		e.Type = RunInterrupted
	}
	return e
}

func (d *driver) runLoop(ctx context.Context, in input) error {
	defer func() { d.tools.stop() }()
	for {
		var effects []effect
		var request toolRequest
		if in == nil {
			request = <-d.tools.requests
			in = request.in
		}
		d.state, effects = step(d.state, in)
		if _, over := in.(toolsDoneInput); over {
			d.tools.stop()
			d.tools = nil
		}
		in = nil
		for _, e := range effects {
			switch e := e.(type) {
			case saveEffect:
				d.setStamp(e.stamp)
				if err := d.saveRecords(ctx, e.records); err != nil {
					return err
				}
			case eventEffect:
				d.setStamp(e.stamp)
				d.emitEvent(e.event)
			case callEffect:
				d.setStamp(e.stamp)
				in = d.callModel(ctx, e)
			case waitEffect:
				in = d.waitForRetry(ctx, e)
			case toolsEffect:
				d.tools = d.startTools(ctx, e)
			case restoreEffect:
				if err := d.node.Restore(e.operations); err != nil {
					return err
				}
			case newsEffect:
				in = d.readNews(ctx)
			case awaitNewsEffect:
				in = d.awaitNews(ctx, e)
			case settleEffect:
				// Say what is in the conversation. Directives of Config.Steering are not known
				// to the operations, which ignore them.
				if d.node != nil {
					d.node.Settle(e.results, e.directives)
				}
			case answerEffect:
				*request.answer = e.answer
			case finishEffect:
				return e.err
			}
		}

		// Let the one go on who waits for the request, if there is one.
		if request.done != nil {
			close(request.done)
		}
	}
}

// saveRecords makes records durable. A cancelled run still saves, because its
// records describe what has already happened.
func (d *driver) saveRecords(ctx context.Context, records []session.Record) error {
	if err := d.writer.Append(context.WithoutCancel(ctx), records...); err != nil {
		return session.WrapStorage(err)
	}
	for _, r := range records {
		if c, ok := r.(session.Checkpoint); ok {
			d.emitEvent(Event{Type: CheckpointSaved, Reason: string(c.Reason)})
		}
	}
	return nil
}

// errTimeBudgetSpent is the cause of a context that ends with the time budget.
var errTimeBudgetSpent = errors.New("the time budget is spent")

// withTimeLimit returns ctx, ended after left unless that is 0.
func withTimeLimit(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	if left == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, left, errTimeBudgetSpent)
}

// causeOf says why ctx ended, if it did.
func causeOf(ctx context.Context) cause {
	switch err := ctx.Err(); {
	case err == nil:
		return causeNone
	case errors.Is(context.Cause(ctx), errTimeBudgetSpent):
		return causeBudget
	case errors.Is(err, context.DeadlineExceeded):
		return causeLate
	default:
		return causeUser
	}
}

// callModel asks the model. Tools start only after it has returned, which is
// after the provider's terminal event.
func (d *driver) callModel(ctx context.Context, c callEffect) input {
	ctx, cancel := withTimeLimit(ctx, c.left)
	defer cancel()
	if why := causeOf(ctx); why != causeNone {
		return failureInput{at: d.currentTime(), err: errCancelled(why, "before the call"), cause: why}
	}
	if err := d.checkRefusedBefore(&c.request); err != nil {
		return failureInput{at: d.currentTime(), err: err}
	}
	var h partialReply
	reply, err := d.cfg.Client.Complete(ctx, &c.request, func(e stream.Event) {
		// Report what streams in, and keep what an interruption would leave of the reply.
		out, ok := fromStream(e)
		h.addEvent(e, out.Delta)
		if d.state.compactReason != "" {
			return // a summary is no part of the conversation
		}
		if ok {
			h.shown = h.shown || out.Type != AssemblyAnomaly
			d.emitEvent(out)
		}
	})
	if err == nil {
		return replyInput{d.currentTime(), reply}
	}
	return failureInput{
		at: d.currentTime(), err: err, cause: causeOf(ctx), shown: h.shown, blocks: h.keepableBlocks(), usage: h.usage,
		body: d.refusedBody(&c.request, err), random: d.cfg.Random(),
	}
}

func (d *driver) waitForRetry(ctx context.Context, w waitEffect) input {
	ctx, cancel := withTimeLimit(ctx, w.left)
	defer cancel()
	if err := d.cfg.Sleep(ctx, w.delay); err != nil {
		return failureInput{at: d.currentTime(), err: err, cause: causeOf(ctx)}
	}
	return waitedInput{d.currentTime()}
}

// setStamp sets the turn and attempt of the events that follow.
func (d *driver) setStamp(s eventStamp) {
	if s.turn != d.stamp.turn {
		d.turnID = fmt.Sprintf("%s.%d", d.state.runID, s.turn)
	}
	d.stamp = s
}

// emitEvent reports an event with the turn and attempt of the run.
func (d *driver) emitEvent(e Event) {
	e.SessionID, e.RunID, e.TS = d.state.session.ID, d.state.runID, d.currentTime()
	if parent := d.state.session.Parent; parent != nil {
		e.ParentID = parent.ID
		e.OperationID = cmp.Or(e.OperationID, e.SessionID)
	}
	e.Turn, e.TurnID, e.Attempt = d.stamp.turn, d.turnID, d.stamp.attempt
	d.sink.emit(e)
}
