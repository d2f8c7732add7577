package jsonl

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestDurable checks that each append is on disk before it returns, and that an
// append that cannot be made durable fails, and with it all later ones.
func TestDurable(t *testing.T) {
	var synced []int64 // sizes of the file when it was synced
	var refuse error
	store := New(t.TempDir(), time.Now)
	store.sync = func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		synced = append(synced, info.Size())
		return refuse
	}
	ctx := context.Background()
	const id = session.ID("0199a2b4-0000-7000-8000-000000000001")
	w, err := store.Create(ctx, session.Header{Version: 1, ID: id, Created: time.Now(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for n := range 3 {
		before := len(synced)
		if err := w.Append(ctx, session.MessageRecord{At: time.Now(), Message: transcript.User("hello")}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(store.Path(id))
		if err != nil {
			t.Fatal(err)
		}
		if len(synced) != before+1 || synced[before] != info.Size() {
			t.Fatalf("append %d: the file has %d bytes, synced at %v", n, info.Size(), synced)
		}
	}
	refuse = errors.New("disk gone")
	entry := session.MessageRecord{At: time.Now(), Message: transcript.User("lost")}
	if err := w.Append(ctx, entry); err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("an append that is not durable: %v", err)
	}
	refuse = nil
	if err := w.Append(ctx, entry); err == nil {
		t.Error("an append after a failed one was taken: its predecessor may be missing")
	}
}

// TestSyncEvery counts the syncs of five turns and their end.
func TestSyncEvery(t *testing.T) {
	for turns, want := range map[int]int{0: 7, 2: 3, 9: 1, -1: 0} {
		synced := 0
		store := New(t.TempDir(), time.Now).SyncEvery(turns)
		store.sync = func(*os.File) error { synced++; return nil }
		ctx := context.Background()
		const id = session.ID("0199a2b4-0000-7000-8000-000000000001")
		w, err := store.Create(ctx, session.Header{Version: 1, ID: id, Created: time.Now(), Model: "m"})
		for range 5 {
			err = errors.Join(err, w.Append(ctx, session.Checkpoint{At: time.Now(), Reason: session.ReasonAssistant}))
		}
		err = errors.Join(err, w.Append(ctx, session.Annotation{At: time.Now(), Name: "m"}), w.Close(), w.Close())
		if err != nil || synced != want {
			t.Errorf("every %d turns: %d syncs, want %d (%v)", turns, synced, want, err)
		}
	}
}
