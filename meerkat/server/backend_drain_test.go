package server_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/server"
)

func checkDrain(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(ctx) }()
	if err := awaitDraining(ctx, b, w); err != nil {
		return err
	}
	select {
	case err := <-drained:
		return fmt.Errorf("Drain returned while a run is under way, %v", err)
	case cause := <-w.causes:
		return cutOffError(cause)
	default:
	}
	if err := w.finishRun(ctx, "whole"); err != nil {
		return err
	}
	if err := <-drained; err != nil {
		return err
	}
	got, err := b.Run(ctx, r.ID)
	if err != nil || got.Outcome == nil || got.Outcome.Text != "whole" {
		return fmt.Errorf("the run ended as %+v, %v", got, err)
	}
	return nil
}

// awaitDraining submits runs until none is accepted. Those that were accepted before the
// drain are interrupted; it is the only reason why they may end.
func awaitDraining(ctx context.Context, b server.Backend, w *worker) error {
	for {
		early, err := submitRun(ctx, b, "", "early", "")
		if errors.Is(err, server.ErrDraining) {
			return nil
		}
		if err == nil {
			_, err = b.Interrupt(ctx, early.Session)
		}
		if err == nil {
			_, err = awaitEnd(ctx, b, early.ID, server.StatusInterrupted)
		}
		if err != nil {
			return fmt.Errorf("while the backend begins to drain: %w", err)
		}
		for len(w.begun) > 0 {
			<-w.begun
		}
		for len(w.causes) > 0 {
			if cause := <-w.causes; !errors.Is(cause, server.ErrInterrupted) {
				return cutOffError(cause)
			}
		}
	}
}

func cutOffError(cause error) error {
	return fmt.Errorf("Drain cut a run off before its context ended: %v", cause)
}

func checkDrainCuts(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	for n := range 3 {
		if _, err := submitBegun(ctx, b, w, numberedSession(n), "hi"); err != nil {
			return err
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.Drain(over); err != nil {
		return err
	}
	if len(w.causes) != 3 {
		return fmt.Errorf("%d of 3 runs had ended when Drain returned", len(w.causes))
	}
	for range 3 {
		if cause := <-w.causes; !errors.Is(cause, server.ErrDraining) {
			return fmt.Errorf("a run was cut off because of %v; want ErrDraining", cause)
		}
	}
	return nil
}
func checkPanic(ctx context.Context, open openBackend) error {
	w := newWorker()
	w.during = func(r server.Run, _ server.Control) {
		if r.Task.Prompt == "panic" {
			panic("a fault of the check")
		}
	}
	b := open(w.executeRun, server.BackendLimits{})
	bad, err := submitBegun(ctx, b, w, numberedSession(1), "panic")
	if err != nil {
		return err
	}
	r, err := awaitEnd(ctx, b, bad.ID, server.StatusFailed)
	if err != nil || r.Outcome.Error == "" || r.Outcome.ErrorKind != "internal" {
		return fmt.Errorf("a run that panics ended as %+v, %v", r.Outcome, err)
	}
	_, err = submitBegun(ctx, b, w, numberedSession(1), "again")
	return err
}
