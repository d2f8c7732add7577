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

// TestDurable: each append is on the disk before it returns (DESIGN §3.7), and
// one that cannot be made durable fails and poisons the writer.
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
		if err := w.Append(ctx, session.Entry{At: time.Now(), Message: transcript.User("hello")}); err != nil {
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
	entry := session.Entry{At: time.Now(), Message: transcript.User("lost")}
	if err := w.Append(ctx, entry); err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("an append that is not durable: %v", err)
	}
	refuse = nil
	if err := w.Append(ctx, entry); err == nil {
		t.Error("an append after a failed one was taken: its predecessor may be missing")
	}
}
