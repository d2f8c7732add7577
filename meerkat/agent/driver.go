package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// driver performs the effects of one run. It decides nothing.
type driver struct {
	cfg    Config
	writer session.Writer
	out    *outlet
	state  state
	stamp  stamp  // of what is reported now
	turnID string // of stamp
	crew   *crew  // the tools that are running

	clock sync.Mutex // tools ask for the time as well
	last  time.Time
}

func (c Config) drive(ctx context.Context, s session.Session, w session.Writer, prompt string, set settings) (Result, error) {
	runID, err := c.NewRunID()
	if err != nil {
		return Result{SessionID: s.ID}, &RunError{s.ID, errors.Join(err, w.Close())}
	}
	d := &driver{cfg: c, out: newOutlet(c.OnEvent, c.EventBuffer), state: state{settings: set, session: s, runID: runID}}
	defer d.out.close()
	err = d.run(ctx, w, prompt)
	result := d.state.result()
	d.emit(ending(&result, err))
	if err != nil {
		return result, &RunError{s.ID, err}
	}
	return result, nil
}

// run performs the run and closes its session, also when a listener or a client
// panics: whoever recovers finds it unlocked.
func (d *driver) run(ctx context.Context, w session.Writer, prompt string) (err error) {
	defer func() {
		if closing := w.Close(); err == nil {
			err = closing
		}
	}()
	d.writer = w
	d.emit(Event{Type: RunStarted, Prompt: prompt})
	return d.loop(ctx, begin{d.now(), d.state.runID, prompt})
}

// now returns the time. Within a run it never goes back, whatever the clock does.
func (d *driver) now() time.Time {
	d.clock.Lock()
	defer d.clock.Unlock()
	if now := d.cfg.now(); now.After(d.last) {
		d.last = now
	}
	return d.last
}

// ending is the last event of a run.
func ending(r *Result, err error) Event {
	e := Event{Type: RunCompleted, Result: r.Text, StopReason: r.StopReason, Usage: &r.Usage}
	if err == nil {
		return e
	}
	e.Type, e.Error, e.ErrorKind = RunFailed, err.Error(), kindOf(err)
	if errors.Is(err, context.Canceled) {
		e.Type = RunInterrupted
	}
	return e
}

func (d *driver) loop(ctx context.Context, in input) error {
	defer func() { d.crew.disband() }()
	for {
		var effects []effect
		release := func() {}
		if in == nil {
			in, release = d.crew.next()
		}
		d.state, effects = step(d.state, in)
		if _, over := in.(answered); over {
			d.crew.disband()
			d.crew = nil
		}
		in = nil
		for _, e := range effects {
			switch e := e.(type) {
			case save:
				d.at(e.stamp)
				if err := d.save(ctx, e.records); err != nil {
					return err
				}
			case notice:
				d.at(e.stamp)
				d.emit(e.event)
			case call:
				d.at(e.stamp)
				in = d.call(ctx, e)
			case wait:
				in = d.wait(ctx, e)
			case dispatch:
				d.crew = d.dispatch(ctx, e)
			case finish:
				return e.err
			}
		}
		release()
	}
}

// save makes records durable. A run that was cancelled still saves: what has
// happened has happened.
func (d *driver) save(ctx context.Context, records []session.Record) error {
	if err := d.writer.Append(context.WithoutCancel(ctx), records...); err != nil {
		return err
	}
	for _, r := range records {
		if c, ok := r.(session.Checkpoint); ok {
			d.emit(Event{Type: CheckpointSaved, Reason: string(c.Reason)})
		}
	}
	return nil
}

// errSpent is the cause of a context that ends with the time budget.
var errSpent = errors.New("the time budget is spent")

// bounded returns ctx, ended after left unless that is 0.
func bounded(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	if left == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, left, errSpent)
}

// causeOf says why ctx ended, if it did.
func causeOf(ctx context.Context) cause {
	switch err := ctx.Err(); {
	case err == nil:
		return causeNone
	case errors.Is(context.Cause(ctx), errSpent):
		return causeBudget
	case errors.Is(err, context.DeadlineExceeded):
		return causeLate
	default:
		return causeUser
	}
}

// call asks the model. Tools start only after it has returned, that is after
// the provider's terminal event (DESIGN §3.11).
func (d *driver) call(ctx context.Context, c call) input {
	ctx, cancel := bounded(ctx, c.left)
	defer cancel()
	if why := causeOf(ctx); why != causeNone {
		return failed{at: d.now(), err: errCancelled(why, "before the call"), cause: why}
	}
	var h arrived
	reply, err := d.cfg.Client.Complete(ctx, &c.request, func(e stream.Event) { d.hear(&h, e) })
	if err == nil {
		return replied{d.now(), reply}
	}
	return failed{at: d.now(), err: err, cause: causeOf(ctx), shown: h.shown, blocks: h.blocks(), random: d.cfg.Random()}
}

// hear passes on what streams in and keeps what an interruption would leave.
func (d *driver) hear(h *arrived, e stream.Event) {
	h.add(e)
	if d.state.compacting != "" {
		return // a summary is no part of the conversation
	}
	if out, ok := fromStream(e); ok {
		h.shown = h.shown || out.Type != AssemblyAnomaly
		d.emit(out)
	}
}

func (d *driver) wait(ctx context.Context, w wait) input {
	ctx, cancel := bounded(ctx, w.left)
	defer cancel()
	if err := d.cfg.Sleep(ctx, w.delay); err != nil {
		return failed{at: d.now(), err: err, cause: causeOf(ctx)}
	}
	return waited{d.now()}
}

// at moves what is reported to a turn.
func (d *driver) at(s stamp) {
	if s.turn != d.stamp.turn {
		d.turnID = fmt.Sprintf("%s.%d", d.state.runID, s.turn)
	}
	d.stamp = s
}

// emit stamps an event with where the run stands.
func (d *driver) emit(e Event) {
	e.SessionID, e.RunID, e.TS = d.state.session.ID, d.state.runID, d.now()
	e.Turn, e.TurnID, e.Attempt = d.stamp.turn, d.turnID, d.stamp.attempt
	d.out.emit(e)
}
