package meerkat_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
)

// BenchmarkLargeReply takes nearly the largest reply that limits.reply_bytes lets
// through, stores it and reports how much memory was in use at most, and how much was
// taken.
func BenchmarkLargeReply(b *testing.B) {
	run := newLargeReply(b, 2000)
	b.ReportAllocs()
	peak := watchHeap()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(peak())/(1<<20), "peak-MB")
}

// TestLargeReply holds that a reply is copied a few times only on its way from the wire
// to the session: its pieces, the block, the line of the session.
func TestLargeReply(t *testing.T) {
	const pieces = 300
	run := newLargeReply(t, pieces)
	run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	if times := float64(after.TotalAlloc-before.TotalAlloc) / (pieces * pieceSize); times > 6 {
		t.Errorf("a reply takes %.1f times its size", times)
	}
}

const pieceSize = 30_000

// newLargeReply returns a function that asks for a reply of so many pieces.
func newLargeReply(t testing.TB, pieces int) func() {
	t.Helper()
	delta := textDelta(strings.Repeat("a", pieceSize))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, streamHead+textStart)
		for range pieces {
			_, _ = io.WriteString(w, delta)
		}
		_, _ = io.WriteString(w, textStop+streamTail)
	}))
	t.Cleanup(s.Close)
	a, err := meerkat.NewAgent().WithAnthropic("key-of-a-test").WithModel("claude-opus-4-6").WithBaseURL(s.URL).WithStore(jsonl.New(t.TempDir(), nil)).Build()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if r, err := a.Run(context.Background(), "hi"); err != nil || len(r.Text) != pieces*pieceSize {
			t.Fatal(len(r.Text), err)
		}
	}
}

// watchHeap returns a function that stops watching and says how large the heap was.
func watchHeap() func() uint64 {
	var most atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	return func() uint64 { close(stop); <-done; return most.Load() }
}
