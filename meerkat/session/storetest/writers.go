package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func checkReopen(store session.Store) error {
	all := allRecordKinds()
	if err := createFilled(store, 1, all[:4]...); err != nil {
		return err
	}
	for i, r := range all[4:] {
		got, w, err := store.Open(ctx, numberedHeader(1).ID)
		if err != nil {
			return err
		}
		err = checkLoaded(got, numberedHeader(1), all[:4+i])
		if err := errors.Join(err, w.Append(ctx, r), w.Close()); err != nil {
			return err
		}
	}
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	return checkLoaded(got, numberedHeader(1), all)
}

func checkUniqueID(store session.Store) error {
	if err := createFilled(store, 1, userMessage("first")); err != nil {
		return err
	}
	if w, err := store.Create(ctx, numberedHeader(1)); !errors.Is(err, session.ErrExists) {
		return fmt.Errorf("a second Create returned %v, %v; want ErrExists", w, err)
	}
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	return checkLoaded(got, numberedHeader(1), []session.Record{userMessage("first")})
}

func checkOneWriter(store session.Store) error {
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		return err
	}
	for _, doing := range []string{"created", "opened"} {
		var locked *session.LockedError
		if _, second, err := store.Open(ctx, numberedHeader(1).ID); !errors.As(err, &locked) {
			return fmt.Errorf(
				"Open beside the writer that %s it returned %v, %v; want *LockedError", doing, second, err,
			)
		}
		if err := store.Delete(ctx, numberedHeader(1).ID); !errors.As(err, &locked) {
			return fmt.Errorf("Delete beside a writer: %v; want *LockedError", err)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			return fmt.Errorf("Close twice: %w", err)
		}
		if _, w, err = store.Open(ctx, numberedHeader(1).ID); err != nil {
			return fmt.Errorf("Open after Close: %w", err)
		}
	}
	return w.Close()
}

func checkClosedWriter(store session.Store) error {
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := w.Append(ctx, userMessage("late")); !errors.Is(err, session.ErrClosed) {
		return fmt.Errorf("Append after Close: %v; want ErrClosed", err)
	}
	return checkMessageCount(store, 0)
}

func checkCancelledAppend(store session.Store) error {
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Append(over, userMessage("late")); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Append with an ended context: %v; want context.Canceled", err)
	}
	if err := checkMessageCount(store, 0); err != nil {
		return err
	}
	return w.Append(ctx, userMessage("in time"))
}

func checkFailedWriter(store session.Store) error {
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	bad := session.MessageRecord{At: epoch} // a message without a role cannot be stored
	if err := w.Append(ctx, userMessage("a"), bad); err == nil {
		return errors.New("a message that cannot be stored was accepted")
	}
	if err := w.Append(ctx, userMessage("b")); err == nil {
		return errors.New("Append after a failed Append succeeded")
	}
	return nil
}

// checkMessageCount returns an error unless session 1 has n messages.
func checkMessageCount(store session.Store, n int) error {
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err == nil && len(got.Messages) != n {
		err = fmt.Errorf("%d messages are stored; want %d", len(got.Messages), n)
	}
	return err
}

func checkNoAliasing(store session.Store) error {
	if err := createFilled(store, 1, allRecordKinds()...); err != nil {
		return err
	}
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	got.Messages[1].Blocks[1].Args[0] = 'X'
	got.Messages = append(got.Messages[:0], transcript.User("mine"))
	again, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	return checkLoaded(again, numberedHeader(1), allRecordKinds())
}

func checkConcurrent(store session.Store) error {
	const sessions, appends = 8, 10
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for n := range sessions {
		wg.Go(func() {
			errs[n] = createFilled(store, n, slices.Repeat([]session.Record{userMessage("x")}, appends)...)
		})
		wg.Go(func() { _, _ = store.List(ctx, session.Filter{}) })
	}
	wg.Wait()
	for n := range sessions {
		got, err := store.Load(ctx, numberedHeader(n).ID)
		if err := errors.Join(errs[n], err); err != nil {
			return err
		}
		if len(got.Messages) != appends {
			return fmt.Errorf("session %d holds %d messages; want %d", n, len(got.Messages), appends)
		}
	}
	return nil
}
