package server_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// runWithEvents completes a run of a session that appends n events: the kind is the
// prompt, the data is a number from 0.
func runWithEvents(ctx context.Context, b server.Backend, w *worker, id session.ID, prompt string, n int) error {
	w.during = func(r server.Run, c server.Control) {
		for i := range n {
			c.Append(r.Task.Prompt, []byte(strconv.Itoa(i)))
		}
	}
	r, err := submitBegun(ctx, b, w, id, prompt)
	if err != nil {
		return err
	}
	if err := w.finishRun(ctx, ""); err != nil {
		return err
	}
	_, err = awaitEnd(ctx, b, r.ID, server.StatusCompleted)
	return err
}

// readAll returns the next n events after a position as "kind data".
func readAll(ctx context.Context, b server.Backend, id session.ID, after server.Position, limit, n int) (read []string,
	next server.Position, err error) {
	for next = after; len(read) < n; {
		page, err := b.Events(ctx, id, next, limit)
		switch {
		case err != nil || len(page.Events) == 0:
			return read, next, fmt.Errorf("after %d of %d events: none, %v", len(read), n, errors.Join(err, ctx.Err()))
		case page.Gap:
			return read, next, fmt.Errorf("after %d of %d events: a gap, although all are kept", len(read), n)
		case len(page.Events) > limit:
			return read, next, fmt.Errorf("%d events in a page of %d", len(page.Events), limit)
		case page.Next != page.Events[len(page.Events)-1].Position:
			return read, next, fmt.Errorf(
				"the next position is %s after event %s", page.Next, page.Events[len(page.Events)-1].Position,
			)
		}
		for _, e := range page.Events {
			read = append(read, e.Kind+" "+string(e.Data))
		}
		next = page.Next
	}
	return read, next, nil
}

// expectSilence returns an error if there is an event after a position.
func expectSilence(ctx context.Context, b server.Backend, id session.ID, after server.Position) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	page, err := b.Events(ended, id, after, 10)
	if err != nil || len(page.Events) > 0 || page.Gap || page.Next != after {
		return fmt.Errorf("after the last event: %+v, %v; want nothing", page, err)
	}
	return nil
}

func checkEvents(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	var want []string
	for _, prompt := range []string{"a", "b"} { // the log goes on over runs
		if err := runWithEvents(ctx, b, w, numberedSession(1), prompt, 5); err != nil {
			return err
		}
		for i := range 5 {
			want = append(want, prompt+" "+strconv.Itoa(i))
		}
	}
	got, end, err := readAll(ctx, b, numberedSession(1), server.Position{}, 3, len(want))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("events (-want +got):\n%s", diff)
	}
	for from := range want {
		parsed, err := server.ParsePosition(server.Position{Log: end.Log,
			Number: uint64(from)}.String()) //nolint:gosec // a small number
		if err != nil {
			return err
		}
		got, _, err := readAll(ctx, b, numberedSession(1), parsed, 100, len(want)-from)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want[from:], got); diff != "" {
			return fmt.Errorf("events after %s (-want +got):\n%s", parsed, diff)
		}
	}
	return expectSilence(ctx, b, numberedSession(1), end)
}

// silence is how long a reader must wait for an event that does not come.
const silence = 50 * time.Millisecond

func checkFollow(ctx context.Context, open openBackend) error {
	w := newWorker()
	more := make(chan string)
	w.during = func(_ server.Run, c server.Control) {
		for kind := range more {
			c.Append(kind, []byte(`{}`))
		}
	}
	defer close(more)
	b := open(w.executeRun, server.BackendLimits{})
	if _, err := submitBegun(ctx, b, w, numberedSession(1), "hi"); err != nil {
		return err
	}
	type answer struct {
		read []string
		err  error
	}
	answers := make(chan answer, 2)
	next := make(chan server.Position, 1)
	next <- server.Position{}
	for n := range 3 {
		go func() {
			read, at, err := readAll(ctx, b, numberedSession(1), <-next, 10, 1)
			next <- at
			answers <- answer{read, err}
		}()
		select {
		case a := <-answers:
			return fmt.Errorf("a reader returned before there was an event: %v, %v", a.read, a.err)
		case <-time.After(silence):
		}
		more <- strconv.Itoa(n)
		if a := <-answers; a.err != nil || a.read[0] != strconv.Itoa(n)+" {}" {
			return fmt.Errorf("a reader that waits got %v, %v; want event %d", a.read, a.err, n)
		}
	}
	return nil
}

func checkLogsApart(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	for n, prompt := range []string{"a", "b"} {
		if err := runWithEvents(ctx, b, w, numberedSession(n), prompt, 1); err != nil {
			return err
		}
	}
	for n, want := range []string{"a 0", "b 0"} {
		got, end, err := readAll(ctx, b, numberedSession(n), server.Position{}, 10, 1)
		if err != nil || got[0] != want {
			return fmt.Errorf("session %d has the events %v, %v; want %s", n, got, err, want)
		}
		if err := expectSilence(ctx, b, numberedSession(n), end); err != nil {
			return err
		}
	}
	return nil
}

func checkGap(ctx context.Context, open openBackend) error {
	const kept, appended = 4, 10
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{Events: kept})
	if err := runWithEvents(ctx, b, w, numberedSession(1), "a", appended); err != nil {
		return err
	}
	page, err := b.Events(ctx, numberedSession(1), server.Position{}, appended)
	if err != nil || !page.Gap || len(page.Events) == 0 {
		return fmt.Errorf("from the beginning of a log that lost events: %+v, %v; want a gap", page, err)
	}
	first, last := page.Events[0].Position, page.Events[len(page.Events)-1]
	if string(last.Data) != "9" || len(page.Events) < kept || page.Next != last.Position {
		return fmt.Errorf(
			"%d events are kept, the last is %s, next %s; want at least %d and 9", len(page.Events), last.Data,
			page.Next, kept,
		)
	}
	early := server.Position{Log: first.Log, Number: 1}
	if first.Number > 2 {
		if page, err = b.Events(
			ctx, numberedSession(1), early, 1,
		); err != nil || !page.Gap || page.Events[0].Position != first {
			return fmt.Errorf("after event 1: %+v, %v; want a gap up to %s", page, err, first)
		}
	}
	if page, err = b.Events(
		ctx, numberedSession(1), first, 1,
	); err != nil || page.Gap || page.Events[0].Position.Number != first.Number+1 {
		return fmt.Errorf("after the first event that is kept: %+v, %v; want the next and no gap", page, err)
	}
	return nil
}

func checkForeignPosition(ctx context.Context, open openBackend) error {
	w := newWorker()
	b := open(w.executeRun, server.BackendLimits{})
	if err := runWithEvents(ctx, b, w, numberedSession(1), "a", 2); err != nil {
		return err
	}
	_, end, err := readAll(ctx, b, numberedSession(1), server.Position{}, 10, 2)
	if err != nil {
		return err
	}
	for _, after := range []server.Position{
		{Log: "another", Number: 1}, {Log: end.Log, Number: 3}, {Log: "another", Number: 1 << 62},
	} {
		page, err := b.Events(ctx, numberedSession(1), after, 10)
		if err != nil || !page.Gap || len(page.Events) != 2 || page.Next != end {
			return fmt.Errorf("after %s: %+v, %v; want a gap and both events", after, page, err)
		}
	}
	// A session without events says the gap as well, and once.
	page, err := b.Events(ctx, numberedSession(2), server.Position{Log: "another", Number: 1}, 10)
	if err != nil || !page.Gap || len(page.Events) > 0 {
		return fmt.Errorf("a session without events: %+v, %v; want a gap", page, err)
	}
	return expectSilence(ctx, b, numberedSession(2), page.Next)
}
