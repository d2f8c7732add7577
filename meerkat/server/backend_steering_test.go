package server_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// steerRun queues messages that must be accepted.
func steerRun(ctx context.Context, b server.Backend, id session.ID, texts ...string) error {
	for _, text := range texts {
		m, err := b.Steer(ctx, id, text)
		if err != nil || m.ID == "" || m.Status != server.SteeringQueued || m.Text != text {
			return fmt.Errorf("Steer %q returned %+v, %v", text, m, err)
		}
	}
	return nil
}

// expectSteerings compares the messages of a session with "text status".
func expectSteerings(ctx context.Context, b server.Backend, id session.ID, want ...string) error {
	all, err := b.Steerings(ctx, id)
	if err != nil {
		return err
	}
	var got []string
	for _, m := range all {
		got = append(got, m.Text+" "+string(m.Status))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("messages (-want +got):\n%s", diff)
	}
	return nil
}

func checkSteering(ctx context.Context, open openBackend) error {
	w := newWorker()
	turn, taken := make(chan struct{}), make(chan []server.Steering)
	w.during = func(_ server.Run, c server.Control) {
		for range turn {
			taken <- c.TakeSteering() // the check reads it at once
		}
	}
	defer close(turn)
	b := open(w.executeRun, server.BackendLimits{})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	for _, want := range [][]string{{"one", "two"}, nil, {"three"}} {
		if err := steerRun(ctx, b, r.Session, want...); err != nil {
			return err
		}
		turn <- struct{}{}
		var got []string
		for _, m := range <-taken {
			got = append(got, m.Text)
			if m.Run != r.ID || m.Session != r.Session {
				return fmt.Errorf("the run takes %+v", m)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("messages of a turn (-want +got):\n%s", diff)
		}
	}
	return expectSteerings(ctx, b, r.Session, "one applied", "two applied", "three applied")
}

func checkSteeringFull(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Steering: 2})
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	if err := steerRun(ctx, b, r.Session, "one", "two"); err != nil {
		return err
	}
	_, err = b.Steer(ctx, r.Session, "three")
	return expectError[*server.SteeringFullError]("a third message where two may wait", err)
}

func checkSteeringEnds(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	for _, interrupted := range []bool{false, true} {
		r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
		if err != nil {
			return err
		}
		if err := steerRun(ctx, b, r.Session, "one"); err != nil {
			return err
		}
		status, left := server.StatusCompleted, "one expired"
		if interrupted {
			status, left = server.StatusInterrupted, "one failed"
			_, err = b.Interrupt(ctx, r.Session)
		} else {
			err = w.finishRun(ctx, "")
		}
		if err != nil {
			return err
		}
		if _, err := awaitEnd(ctx, b, r.ID, status); err != nil {
			return err
		}
		if err := expectSteerings(ctx, b, r.Session, left); err != nil {
			return err
		}
		_, err = b.Steer(ctx, r.Session, "late")
		if err := expectError[*server.NotRunningError]("Steer after the run", err); err != nil {
			return err
		}
	}
	return nil
}

func checkCancel(ctx context.Context, open openBackend) error {
	w := newWorker()
	ask, asked := make(chan struct{}), make(chan session.ID, 64)
	w.during = func(_ server.Run, c server.Control) {
		<-ask
		c.OnCancel(func(operation session.ID) { asked <- operation })
	}
	letAsk := sync.OnceFunc(func() { close(ask) })
	defer letAsk()
	b := open(w.executeRun, server.BackendLimits{})
	_, err := b.CancelOperation(ctx, numberedSession(1), numberedSession(2))
	if err := expectError[*server.NotRunningError]("CancelOperation without a run", err); err != nil {
		return err
	}
	r, err := submitBegun(ctx, b, w, numberedSession(1), "hi")
	if err != nil {
		return err
	}
	before, after := numberedSession(2), numberedSession(3)
	if err := cancelOperation(ctx, b, r, before); err != nil {
		return err
	}
	letAsk()
	if err := awaitCancel(ctx, asked, before); err != nil {
		return err
	}
	if err := cancelOperation(ctx, b, r, after); err != nil {
		return err
	}
	return awaitCancel(ctx, asked, after)
}

// cancelOperation asks a run that is under way to cancel an operation.
func cancelOperation(ctx context.Context, b server.Backend, r server.Run, operation session.ID) error {
	got, err := b.CancelOperation(ctx, r.Session, operation)
	if err == nil && got.ID != r.ID {
		err = fmt.Errorf("CancelOperation returned run %s, want %s", got.ID, r.ID)
	}
	return err
}

// awaitCancel waits until a run learns of an operation. Earlier ones may come again.
func awaitCancel(ctx context.Context, asked <-chan session.ID, want session.ID) error {
	for {
		select {
		case got := <-asked:
			if got == want {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the run does not learn of operation %s", want)
		}
	}
}
