package record_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	_ "github.com/meerkat-go/conformance/wires/all"
)

const last = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// leaver is an upstream that sends one event, waits until the client has left
// the proxy, and goes on.
type leaver struct {
	left chan struct{}
	rest []string
	cut  chan struct{} // closed when the proxy ends the request
}

func (l *leaver) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: 1\n\n")
	w.(http.Flusher).Flush()
	select {
	case <-l.left:
	case <-r.Context().Done():
	}
	for _, text := range l.rest {
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
	}
	if l.cut != nil {
		<-r.Context().Done()
		close(l.cut)
	}
}

// leaveAfterOne reads one event of the reply and leaves; it returns when the
// proxy has seen that.
func leaveAfterOne(g *rig, l *leaver, gone <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader("{}"))
	resp, err := g.client.Do(req)
	check(g.t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 9))
	check(g.t, err)
	cancel()
	_ = resp.Body.Close()
	<-gone
	close(l.left)
}

// watched tells when the client's request context has ended.
func watched(gone chan struct{}) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			context.AfterFunc(r.Context(), func() { close(gone) })
			next.ServeHTTP(w, r)
		})
	}
}

// G2: with a drain the rest of the reply is kept, and what of it came too late
// for the client is told; it ended in a client abort all the same.
func TestDrain(t *testing.T) {
	for name, c := range map[string]struct {
		drain   record.Drain
		rest    []string
		drained int
		why     string
	}{
		"to the end": {record.Drain{Bytes: 1 << 20, Time: time.Hour}, []string{"data: 2\n\n", last},
			9 + len(last), ""},
		"up to so many bytes": {record.Drain{Bytes: 5, Time: time.Hour}, []string{"data: 2\n\n"}, 9,
			cassette.IncompleteCut},
		"for so long": {record.Drain{Bytes: 1 << 20, Time: time.Millisecond}, nil, 0, cassette.IncompleteCut},
		"without the last one": {record.Drain{Bytes: 1 << 20, Time: time.Hour}, []string{"data: 2\n\n"}, 9,
			cassette.IncompleteCut},
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			l := &leaver{left: make(chan struct{}), rest: c.rest}
			if c.drained == 0 || c.drain.Bytes == 5 {
				l.cut = make(chan struct{})
			}
			g := newWrappedRig(t, record.Config{OnAbort: c.drain}, l.serve, watched(gone))
			leaveAfterOne(g, l, gone)
			if l.cut != nil {
				<-l.cut // the bound ended the upstream's work
			}
			in := g.only()
			if want := "data: 1\n\n" + strings.Join(c.rest, ""); string(in.Response.Body) != want {
				t.Errorf("kept %q, want %q", in.Response.Body, want)
			}
			if in.End != cassette.EndClientAbort || in.Drained != c.drained || in.Incomplete != c.why {
				t.Errorf("ended %s, drained %d, incomplete %q; want %d, %q", in.End, in.Drained, in.Incomplete,
					c.drained, c.why)
			}
		})
	}
}

// An SDK that closes as soon as it has read the terminal event missed nothing.
func TestLeavingAfterTheTerminalEventIsNoCut(t *testing.T) {
	closed := make(chan struct{})
	g := newRig(t, true, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, last)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the connection lingers, as providers' do
		close(closed)
	})
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader("{}"))
	resp, err := g.client.Do(req)
	check(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, len(last)))
	check(t, err)
	cancel()
	_ = resp.Body.Close()
	<-closed
	in := g.only()
	if in.End != cassette.EndClientAbort || in.Incomplete != "" || len(g.report.Cut) != 0 {
		t.Errorf("ended %s, incomplete %q, report %+v", in.End, in.Incomplete, *g.report)
	}
}

// Cuts that were declared are marked all the same, and counted instead of
// listed.
func TestDeclaredCuts(t *testing.T) {
	g := newRig(t, false, record.Config{AllowIncomplete: true}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
	})
	read(t, g.post())
	if in := g.only(); in.Incomplete != cassette.IncompleteOpen || g.report.Declared != 1 || len(g.report.Cut) != 0 {
		t.Errorf("incomplete %q, report %+v", in.Incomplete, *g.report)
	}
}

// A body longer than is kept reaches the client whole, takes no room, and is
// reported; the next interaction is saved.
func TestLongestBody(t *testing.T) {
	const most = 1 << 20
	g := newRig(t, false, record.Config{MaxBody: most}, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.Copy(io.Discard, r.Body)
		if sent > 2 {
			_, _ = fmt.Fprint(w, sent)
			return
		}
		for range 5 * most / (64 << 10) {
			_, _ = w.Write(make([]byte, 64<<10))
		}
	})
	if n := len(read(t, g.post())); n != 5*most {
		t.Errorf("the client got %d bytes of %d", n, 5*most)
	}
	resp, err := g.client.Post(endpoint, "application/json", strings.NewReader(strings.Repeat("x", 3*most)))
	check(t, err)
	if got := read(t, resp); got != fmt.Sprint(3*most) {
		t.Errorf("the upstream got %s bytes of %d", got, 3*most)
	}
	r := g.close()
	if r.Saved != 0 || len(r.Lost) != 2 || !strings.Contains(r.Lost[0],
		"a body of more than 1 MiB, the most that is kept (5 MiB passed); --max-body keeps longer ones") {
		t.Errorf("report %+v", r)
	}
}

// A request is sent on whole even where neither the disk nor the memory set
// aside for want of one has room for it.
func TestLongRequestWithoutADisk(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n)
	})
	const size = 33 << 20
	resp, err := g.client.Post(endpoint, "application/json", strings.NewReader(strings.Repeat("x", size)))
	check(t, err)
	if got := read(t, resp); got != fmt.Sprint(size) {
		t.Errorf("the upstream got %s bytes of %d", got, size)
	}
}
