package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
	"github.com/meerkat-go/conformance/meerkat/session"
)

func contextEnded() (context.Context, context.CancelFunc) {
	return context.WithCancel(context.Background())
}

// serverEvent is one server-sent event; a comment has a kind of ":".
type serverEvent struct{ id, kind, data string }

// openEvents follows a session after an event. The caller closes the body.
func (f *fixture) openEvents(t testing.TB, ctx context.Context, id, after string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL+"/sessions/"+id+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	response, err := f.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// nextEvent reads one event, ok is false at the end.
func nextEvent(lines *bufio.Scanner) (e serverEvent, ok bool) {
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if lines.Text() != "" {
				e.kind = ":"
				continue
			}
			return e, true
		}
	}
	return e, false
}

// readEvents reads n events of a session after the event with an id, and leaves.
func (f *fixture) readEvents(t testing.TB, id, after string, n int) (events []serverEvent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response := f.openEvents(t, ctx, id, after)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for len(events) < n {
		e, ok := nextEvent(lines)
		if !ok {
			t.Fatalf("%d of %d events: %v", len(events), n, lines.Err())
		}
		if e.kind != ":" {
			events = append(events, e)
		}
	}
	return events
}

// TestEvents holds that a reader that comes back after any event gets each of the others
// once, in order, over several runs.
func TestEvents(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	id, _ := f.start(t, "hi")
	f.ask(t, "POST", "/sessions/"+id+"/runs", `{"prompt":"again"}`, "Prefer: wait=170")
	var all []serverEvent
	for ends := 0; ends < 2; {
		after := ""
		if len(all) > 0 {
			after = all[len(all)-1].id
		}
		e := f.readEvents(t, id, after, 1)[0]
		if all = append(all, e); e.kind == "run_completed" {
			ends++
		}
	}
	if all[0].kind != "run_started" || !strings.Contains(all[0].data, `"type":"run_started"`) ||
		!slices.ContainsFunc(all, func(e serverEvent) bool { return e.kind == "text_delta" }) {
		t.Errorf("events %v", all)
	}
	for from := range all {
		if got := f.readEvents(t, id, all[from].id, len(all)-from-1); !slices.Equal(got, all[from+1:]) {
			t.Errorf("after event %d: %v; want %v", from, got, all[from+1:])
		}
	}
}

// TestEventsGap holds that missing events are said.
func TestEventsGap(t *testing.T) {
	f := newFixture(t, server.BackendLimits{Events: 2}, rest.Options{})
	id, _ := f.start(t, "hi")
	if events := f.readEvents(t, id, "", 3); events[0].kind != "gap" || events[0].id != "" ||
		events[2].kind != "run_completed" {
		t.Errorf("events %v; want a gap and the last two", events)
	}
	w, err := f.store.Create(t.Context(), session.Header{
		Version: session.Version, ID: "0199a2b4-0000-7000-8000-000000000001",
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	// The log of an earlier process is gone: its position is a gap, said once.
	events := f.readEvents(t, "0199a2b4-0000-7000-8000-000000000001", "earlier.7", 1)
	if events[0].kind != "gap" || events[0].id == "" {
		t.Errorf("events %v; want a gap with a position", events)
	}
}

// TestEventStreams holds that an idle stream shows that it is alive, that streams are
// bounded, that one ends with its client, and all with the server.
func TestEventStreams(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{Heartbeat: time.Millisecond, Streams: 2})
	id, _ := f.start(t, "wait")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var open []*bufio.Scanner
	for range 2 {
		response := f.openEvents(t, ctx, id, "")
		defer func() { _ = response.Body.Close() }()
		open = append(open, bufio.NewScanner(response.Body))
	}
	for e, ok := nextEvent(open[0]); e.kind != ":"; e, ok = nextEvent(open[0]) {
		if !ok {
			t.Fatal("the stream ended without a sign of life")
		}
	}
	if a := f.ask(
		t, "GET", "/sessions/"+id+"/events", "",
	); a.status != 429 || a.header.Get("Retry-After") == "" || f.api.Streams() != 2 {
		t.Errorf("a third stream: %d %s; %d are open", a.status, a.text, f.api.Streams())
	}
	leave()
	awaitStreams(t, f, 0)
	last := f.openEvents(t, t.Context(), id, "")
	defer func() { _ = last.Body.Close() }()
	ended, cancel := contextEnded()
	cancel()
	if err := f.api.Drain(ended); err != nil {
		t.Fatal(err)
	}
	kinds := ""
	lines := bufio.NewScanner(last.Body)
	for e, ok := nextEvent(lines); ok; e, ok = nextEvent(lines) {
		kinds += e.kind + " "
	}
	if !strings.Contains(kinds, "run_interrupted") {
		t.Errorf("the stream ended before the run did: %s", kinds)
	}
	awaitStreams(t, f, 0)
}

// awaitStreams waits until so many streams are open.
func awaitStreams(t testing.TB, f *fixture, want int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); f.api.Streams() != want; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d streams are open; want %d", f.api.Streams(), want)
		}
	}
}

// TestReadersThatStop opens 1,000 event streams that nobody reads. Runs and other
// requests must go on as before.
func TestReadersThatStop(t *testing.T) {
	const readers = 1000
	f := newFixture(t, server.BackendLimits{}, rest.Options{Streams: readers})
	id, _ := f.start(t, "hi")
	for range readers {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.Listener.Addr().String())
		if err != nil {
			t.Skipf("this machine has not enough file descriptors: %v", err)
		}
		defer func() { _ = c.Close() }()
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		if _, err := fmt.Fprintf(
			c, "GET /sessions/%s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", id, token,
		); err != nil {
			t.Fatal(err)
		}
	}
	awaitStreams(t, f, readers)
	large := strings.Repeat("x", 1<<16)
	for n := range 3 {
		a := f.ask(t, "POST", "/sessions/"+id+"/runs", `{"prompt":"`+large+`"}`, "Prefer: wait=170")
		if a.Status != "completed" {
			t.Fatalf("run %d: %.300s", n, a.text)
		}
	}
	if a := f.ask(t, "GET", "/healthz", ""); a.status != 200 {
		t.Errorf("health: %d", a.status)
	}
}

// TestClientsThatLeave holds that a run goes on when the client that waits for it leaves.
func TestClientsThatLeave(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	id, run := f.start(t, "wait")
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL+"/sessions/"+id+"/runs/"+run, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Prefer", "wait=170")
	done := make(chan error, 1)
	go func() {
		response, err := f.Client().Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		done <- err
	}()
	leave()
	if err := <-done; err == nil {
		t.Error("the client got an answer although the run had not ended")
	}
	if a := f.ask(t, "GET", "/sessions/"+id, ""); a.Status != "running" {
		t.Errorf("the session: %s", a.text)
	}
}
