package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// faulty is a working backend with one fault. What is nil works.
type faulty struct {
	server.Backend
	execute   func(server.Execute) server.Execute // around the function of the check
	submit    func(*server.Submission)            // changes what is accepted
	submitted func(server.Submission, server.Run, bool, error) (server.Run, bool, error)
	run       func(server.Run, error) (server.Run, error) // of Run
	wait      func(context.Context, server.RunID) (server.Run, error)
	runs      func([]server.Run, server.RunID) []server.Run
	active    func([]server.Run) []server.Run
	interrupt func(context.Context, session.ID) (server.Run, error)
	events    func(ctx context.Context, id session.ID, after server.Position, limit int) (server.EventPage, error)
	steered   func(server.Steering, error) (server.Steering, error)
	said      func([]server.Steering) []server.Steering
	forget    func(context.Context, session.ID) error
	drain     func(context.Context) error
}

func (f *faulty) Submit(ctx context.Context, s server.Submission) (server.Run, bool, error) {
	if f.submit != nil {
		f.submit(&s)
	}
	r, repeated, err := f.Backend.Submit(ctx, s)
	if f.submitted != nil {
		return f.submitted(s, r, repeated, err)
	}
	return r, repeated, err
}

func (f *faulty) Run(ctx context.Context, id server.RunID) (server.Run, error) {
	r, err := f.Backend.Run(ctx, id)
	if f.run != nil {
		return f.run(r, err)
	}
	return r, err
}

func (f *faulty) Wait(ctx context.Context, id server.RunID) (server.Run, error) {
	if f.wait != nil {
		return f.wait(ctx, id)
	}
	return f.Backend.Wait(ctx, id)
}

func (f *faulty) Runs(ctx context.Context, id session.ID, before server.RunID, limit int) ([]server.Run, error) {
	runs, err := f.Backend.Runs(ctx, id, before, limit)
	if f.runs != nil {
		runs = f.runs(runs, before)
	}
	return runs, err
}

func (f *faulty) Active(ctx context.Context) ([]server.Run, error) {
	runs, err := f.Backend.Active(ctx)
	if f.active != nil {
		runs = f.active(runs)
	}
	return runs, err
}

func (f *faulty) Interrupt(ctx context.Context, id session.ID) (server.Run, error) {
	if f.interrupt != nil {
		return f.interrupt(ctx, id)
	}
	return f.Backend.Interrupt(ctx, id)
}

func (f *faulty) Events(ctx context.Context, id session.ID, after server.Position, limit int) (server.EventPage, error) {
	if f.events != nil {
		return f.events(ctx, id, after, limit)
	}
	return f.Backend.Events(ctx, id, after, limit)
}

func (f *faulty) Steer(ctx context.Context, id session.ID, text string) (server.Steering, error) {
	m, err := f.Backend.Steer(ctx, id, text)
	if f.steered != nil {
		return f.steered(m, err)
	}
	return m, err
}

func (f *faulty) Steerings(ctx context.Context, id session.ID) ([]server.Steering, error) {
	all, err := f.Backend.Steerings(ctx, id)
	if f.said != nil {
		all = f.said(all)
	}
	return all, err
}

func (f *faulty) Forget(ctx context.Context, id session.ID) error {
	if f.forget != nil {
		return f.forget(ctx, id)
	}
	return f.Backend.Forget(ctx, id)
}

func (f *faulty) Drain(ctx context.Context) error {
	if f.drain != nil {
		return errors.Join(f.drain(ctx), f.Backend.Drain(ctx))
	}
	return f.Backend.Drain(ctx)
}

// control is the Control of a run with one fault.
type control struct {
	server.Control
	append   func(kind string, data json.RawMessage)
	take     func() []server.Steering
	onCancel func(func(session.ID))
}

func (c *control) OnCancel(cancel func(session.ID)) {
	if c.onCancel != nil {
		c.onCancel(cancel)
		return
	}
	c.Control.OnCancel(cancel)
}

func (c *control) Append(kind string, data json.RawMessage) {
	if c.append != nil {
		c.append(kind, data)
		return
	}
	c.Control.Append(kind, data)
}

func (c *control) TakeSteering() []server.Steering {
	if c.take != nil {
		return c.take()
	}
	return c.Control.TakeSteering()
}

// withControl is an execute that changes the Control of runs.
func withControl(change func(*control)) func(server.Execute) server.Execute {
	return func(next server.Execute) server.Execute {
		return func(ctx context.Context, r server.Run, c server.Control) server.Outcome {
			changed := &control{Control: c}
			change(changed)
			return next(ctx, r, changed)
		}
	}
}

// withCause is an execute whose contexts end for the wrong reason.
func withCause(next server.Execute) server.Execute {
	return func(ctx context.Context, r server.Run, c server.Control) server.Outcome {
		wrong, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer context.AfterFunc(ctx, cancel)()
		defer cancel()
		return next(wrong, r, c)
	}
}

// losesMetadata is an execute that gets less than was accepted.
func losesMetadata(next server.Execute) server.Execute {
	return func(ctx context.Context, r server.Run, c server.Control) server.Outcome {
		r.Task.Metadata = nil
		return next(ctx, r, c)
	}
}

// sharesLog appends the events of all sessions to the first one's log as well.
func sharesLog() func(server.Execute) server.Execute {
	var mu sync.Mutex
	kept := []server.LogEvent{}
	return withControl(func(c *control) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range kept {
			c.Control.Append(e.Kind, e.Data)
		}
		c.append = func(kind string, data json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, server.LogEvent{Kind: kind, Data: data})
			c.Control.Append(kind, data)
		}
	})
}

// ignoresKeys accepts each request as another one while waiting is the number of the
// first requests that still count.
func ignoresKeys(after int64) func(*server.Submission) {
	var n atomic.Int64
	return func(s *server.Submission) {
		if n.Add(1) > after {
			s.Key = ""
		}
	}
}

// hidesError reports success where there is an E.
func hidesError[E error](s server.Submission, r server.Run, repeated bool, err error) (server.Run, bool, error) {
	if errors.As(err, new(E)) {
		err = nil
	}
	return r, repeated, err
}

// changePages changes what readers get of a log.
func changePages(b server.Backend, change func(after server.Position, p *server.EventPage)) func(context.Context, session.ID, server.Position, int) (server.EventPage, error) {
	return func(ctx context.Context, id session.ID, after server.Position, limit int) (server.EventPage, error) {
		p, err := b.Events(ctx, id, after, limit)
		change(after, &p)
		return p, err
	}
}

// canaries each break one point of the contract, by the name of its check.
func canaries() map[string]func(f *faulty) {
	return map[string]func(f *faulty){
		"a run is executed once as it was accepted, and its outcome is kept": func(f *faulty) { f.execute = losesMetadata },
		"a repeated key is the same run":                                     func(f *faulty) { f.submit = ignoresKeys(0) },
		"a repeated key is the same run, although nothing else is accepted":  func(f *faulty) { f.submit = ignoresKeys(1) },
		"a key that comes 50 times at once is one run":                       func(f *faulty) { f.submit = ignoresKeys(49) },
		"a key with another request is refused":                              func(f *faulty) { f.submitted = hidesError[*server.KeyReusedError] },
		"a session has one run at a time":                                    func(f *faulty) { f.submitted = hidesError[*server.BusyError] },
		"more runs than the limit are refused":                               func(f *faulty) { f.submitted = hidesError[*server.FullError] },
		"what does not exist is not found":                                   func(f *faulty) { f.run = func(r server.Run, _ error) (server.Run, error) { return r, nil } },
		"waiting ends with the context": func(f *faulty) {
			f.wait = func(ctx context.Context, id server.RunID) (server.Run, error) {
				return f.Backend.Wait(context.WithoutCancel(ctx), id)
			}
		},
		"runs are listed by session, the newest first, page by page": func(f *faulty) {
			f.runs = func(all []server.Run, _ server.RunID) []server.Run { slices.Reverse(all); return all }
		},
		"active runs are those that have not ended":              func(f *faulty) { f.active = func(all []server.Run) []server.Run { return all[1:] } },
		"an interrupt ends the run of its session, and says why": func(f *faulty) { f.execute = withCause },
		"a run learns of each operation to cancel, also of those that came before it asked": func(f *faulty) {
			f.execute = withControl(func(c *control) { c.onCancel = func(func(session.ID)) {} })
		},
		"events are read in order from any position": func(f *faulty) {
			f.events = changePages(f.Backend, func(_ server.Position, p *server.EventPage) { slices.Reverse(p.Events) })
		},
		"a reader waits for the next event": func(f *faulty) {
			f.events = func(ctx context.Context, id session.ID, after server.Position, limit int) (server.EventPage, error) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return f.Backend.Events(ctx, id, after, limit)
			}
		},
		"sessions have logs of their own": func(f *faulty) { f.execute = sharesLog() },
		"events that are no longer kept are a gap": func(f *faulty) {
			f.events = changePages(f.Backend, func(_ server.Position, p *server.EventPage) { p.Gap = false })
		},
		"a position of another log is a gap": func(f *faulty) {
			f.events = changePages(f.Backend, func(after server.Position, p *server.EventPage) { p.Gap = p.Gap && after.Log != "another" })
		},
		"steering is taken once, in order": func(f *faulty) {
			f.execute = withControl(func(c *control) {
				var all []server.Steering
				c.take = func() []server.Steering { all = append(all, c.Control.TakeSteering()...); return all }
			})
		},
		"steering beyond the limit is refused": func(f *faulty) {
			f.steered = func(m server.Steering, _ error) (server.Steering, error) { return m, nil }
		},
		"steering that no turn took ends with its run":                func(f *faulty) { f.said = staysQueued },
		"forgotten is gone, and a session that runs is not forgotten": func(f *faulty) { f.forget = func(context.Context, session.ID) error { return nil } },
		"a drain waits for runs and accepts none":                     cutsOff,
		"a drain that runs out of time cuts runs off":                 func(f *faulty) { f.execute = withCause },
		"a run that panics fails alone": func(f *faulty) {
			f.wait = func(ctx context.Context, id server.RunID) (server.Run, error) {
				r, err := f.Backend.Wait(ctx, id)
				r.Status = server.StatusCompleted
				return r, err
			}
		},
	}
}

// cutsOff makes a drain cut runs off at once. No client learns of the drain before they
// have ended, so that none can let them complete first.
func cutsOff(f *faulty) {
	ended := make(chan struct{})
	cut := sync.OnceValue(func() error {
		defer close(ended)
		return f.Backend.Drain(endedContext())
	})
	f.drain = func(context.Context) error { return cut() }
	f.submitted = func(_ server.Submission, r server.Run, repeated bool, err error) (server.Run, bool, error) {
		if errors.Is(err, server.ErrDraining) {
			<-ended
		}
		return r, repeated, err
	}
}

func staysQueued(all []server.Steering) []server.Steering {
	for i := range all {
		all[i].Status = server.SteeringQueued
	}
	return all
}

func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// openFaulty returns an Open of backends in this process with one fault.
func openFaulty(fault func(*faulty)) Open {
	return func(execute server.Execute, limits server.BackendLimits) server.Backend {
		f := &faulty{}
		var wrapped server.Execute
		f.Backend = server.NewLocal(func(ctx context.Context, r server.Run, c server.Control) server.Outcome {
			return wrapped(ctx, r, c)
		}, server.LocalOptions{BackendLimits: limits})
		fault(f)
		if wrapped = execute; f.execute != nil {
			wrapped = f.execute(execute)
		}
		return f
	}
}

// TestCanaries makes sure that each check finds the fault it is meant for, and that every
// check has a canary.
func TestCanaries(t *testing.T) {
	all := canaries()
	for _, c := range backendChecks() {
		fault := all[c.Name]
		if fault == nil {
			t.Errorf("%s: no canary", c.Name)
			continue
		}
		if err := tryFault(t, c, func(*faulty) {}); err != nil {
			t.Errorf("%s: a backend without fault: %v", c.Name, err)
		}
		err := tryFault(t, c, fault)
		if err == nil {
			t.Errorf("%s: the canary passed", c.Name)
		}
		t.Logf("%s: %.160v", c.Name, err)
	}
	if len(all) != len(backendChecks()) {
		t.Errorf("%d canaries for %d checks", len(all), len(backendChecks()))
	}
}

// tryFault runs a check on a backend with a fault. The check's patience ends when nothing
// can happen any more, not after some time on the clock.
func tryFault(t *testing.T, c backendCheck, fault func(*faulty)) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = tryCheck(t.Context(), c, openFaulty(fault), patience) })
	return err
}
