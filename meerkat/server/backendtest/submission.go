package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

func checkRepeatedKey(ctx context.Context, open Open) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	first, err := submitRun(ctx, b, numberedSession(1), "hi", "k")
	if err != nil {
		return err
	}
	again := server.Submission{Session: numberedSession(1), Key: "k", Task: server.Task{Prompt: "hi", TraceParent: "00-another"}}
	for _, ended := range []bool{false, true} {
		if ended {
			if err := w.finishRun(ctx, "done"); err != nil {
				return err
			}
			if _, err := awaitEnd(ctx, b, first.ID, server.StatusCompleted); err != nil {
				return err
			}
		}
		r, repeated, err := b.Submit(ctx, again)
		if err != nil || !repeated || r.ID != first.ID || r.Status.Ended() != ended {
			return fmt.Errorf("the key again (ended %v): run %s %s, repeated %v, %v; want run %s", ended, r.ID, r.Status, repeated, err, first.ID)
		}
	}
	return nil
}

func checkRepeatedWhenFull(ctx context.Context, open Open) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Runs: 1})
	first, err := submitRun(ctx, b, "", "hi", "k")
	if err != nil {
		return err
	}
	r, repeated, err := b.Submit(ctx, server.Submission{Key: "k", Task: server.Task{Prompt: "hi"}})
	if err != nil || !repeated || r.ID != first.ID {
		return fmt.Errorf("the key again in a full server: run %s, repeated %v, %v; want run %s", r.ID, repeated, err, first.ID)
	}
	return nil
}

func checkConcurrentKey(ctx context.Context, open Open) error {
	const clients = 50
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids, fresh, failures := map[server.RunID]bool{}, 0, []error{}
	for range clients {
		wg.Go(func() {
			r, repeated, err := b.Submit(ctx, server.Submission{Key: "k", Task: server.Task{Prompt: "hi"}})
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID] = true
			if !repeated {
				fresh++
			}
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 || fresh != 1 || len(failures) > 0 {
		return fmt.Errorf("%d clients got %d runs, %d of them fresh, %v", clients, len(ids), fresh, errors.Join(failures...))
	}
	return nil
}

func checkReusedKey(ctx context.Context, open Open) error {
	b := open(newWorker().executeRun, server.BackendLimits{})
	if _, err := submitRun(ctx, b, numberedSession(1), "hi", "k"); err != nil {
		return err
	}
	for _, s := range []server.Submission{
		{Session: numberedSession(1), Key: "k", Task: server.Task{Prompt: "ho"}},
		{Session: numberedSession(2), Key: "k", Task: server.Task{Prompt: "hi"}},
		{Session: numberedSession(1), Key: "k", Task: server.Task{Prompt: "hi", Limits: session.Limits{MaxTurns: 1}}},
	} {
		_, _, err := b.Submit(ctx, s)
		if err := expectError[*server.KeyReusedError](fmt.Sprintf("another request with the key, %+v", s.Task), err); err != nil {
			return err
		}
	}
	return nil
}

func checkBusySession(ctx context.Context, open Open) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	first, err := submitBegun(ctx, b, w, numberedSession(1), "one")
	if err != nil {
		return err
	}
	_, _, err = b.Submit(ctx, server.Submission{Session: numberedSession(1), Task: server.Task{Prompt: "two"}})
	if busy := (*server.BusyError)(nil); !errors.As(err, &busy) || busy.Run != first.ID {
		return fmt.Errorf("a second run: %v; want a *BusyError of run %s", err, first.ID)
	}
	if _, err := submitBegun(ctx, b, w, numberedSession(2), "other"); err != nil {
		return fmt.Errorf("another session: %w", err)
	}
	for range 2 {
		if err := w.finishRun(ctx, ""); err != nil {
			return err
		}
	}
	if _, err := awaitEnd(ctx, b, first.ID, server.StatusCompleted); err != nil {
		return err
	}
	if _, err = submitBegun(ctx, b, w, numberedSession(1), "two"); err != nil {
		return fmt.Errorf("after the first has ended: %w", err)
	}
	return nil
}

func checkFull(ctx context.Context, open Open) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Runs: 2})
	var last server.Run
	var err error
	for n := range 2 {
		if last, err = submitBegun(ctx, b, w, numberedSession(n), "hi"); err != nil {
			return err
		}
	}
	_, _, err = b.Submit(ctx, server.Submission{Session: numberedSession(3)})
	if err := expectError[*server.FullError]("a third run where two are allowed", err); err != nil {
		return err
	}
	if _, err := b.Interrupt(ctx, last.Session); err != nil {
		return err
	}
	if _, err := awaitEnd(ctx, b, last.ID, server.StatusInterrupted); err != nil {
		return err
	}
	_, err = submitRun(ctx, b, numberedSession(3), "hi", "")
	return err
}
