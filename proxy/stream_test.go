package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/record"
)

// deadline bounds tests that would wait for ever for a byte that was not sent.
const deadline = 10 * time.Second

// G6: every write reaches the client at once, whatever its content type.
func TestEveryWriteIsFlushed(t *testing.T) {
	for _, kind := range []string{"text/event-stream", "application/json", "application/x-ndjson",
		"application/vnd.amazon.eventstream"} {
		for _, h2 := range []bool{false, true} {
			ok := t.Run(fmt.Sprint(kind, " h2=", h2), func(t *testing.T) {
				seen := make(chan struct{})
				_, c, tr := setup(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", kind)
					for range 3 {
						_, _ = io.WriteString(w, "x")
						await(r.Context(), seen) // a second write is only made when the first one has arrived
					}
				})
				tr.ForceAttemptHTTP2 = h2
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				readInStep(ctx, t, c, "https://"+host+"/", 3, seen)
			})
			if !ok {
				return // what is held back once is held back each time
			}
		}
	}
}

// readInStep reads n replies of one byte each and lets the sender go on after
// each of them.
func readInStep(ctx context.Context, tb testing.TB, c *http.Client, url string, n int, seen chan<- struct{}) {
	tb.Helper()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	resp, err := c.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for range n {
		if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
			tb.Fatal(err)
		}
		tell(ctx, seen)
	}
}

// tell sends to c, unless ctx ends first.
func tell(ctx context.Context, c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	case <-ctx.Done():
	}
}

// await receives from c, unless ctx ends first.
func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// G2: a client that leaves cancels its request, also while nothing is written.
func TestClientAbortCancels(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprint("h2=", h2), func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), deadline)
			defer stop()
			cancelled := make(chan struct{})
			_, c, tr := setup(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "x")
				await(ctx, r.Context().Done())
				if r.Context().Err() != nil {
					close(cancelled)
				}
			})
			tr.ForceAttemptHTTP2 = h2
			request, cancel := context.WithCancel(t.Context())
			req, _ := http.NewRequestWithContext(request, http.MethodPost, "https://"+host+"/", strings.NewReader("{}"))
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if await(ctx, cancelled); ctx.Err() != nil {
				t.Error("the request goes on without its client")
			}
			_ = resp.Body.Close()
		})
	}
}

// G4: a panic ends one request and nothing else.
func TestPanicsAreIsolated(t *testing.T) {
	_, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("a bug")
		}
	})
	if _, err := c.Get("https://" + host + "/panic"); err == nil {
		t.Error("a panicking handler answered")
	}
	resp, err := c.Get("https://" + host + "/")
	if body(t, resp, err); resp.StatusCode != http.StatusOK {
		t.Errorf("after a panic: %d", resp.StatusCode)
	}
}

// G5: a client that waits for 100 Continue gets it.
func TestExpectContinue(t *testing.T) {
	_, c, tr := setup(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	tr.ExpectContinueTimeout = time.Hour
	req, _ := http.NewRequest(http.MethodPost, "https://"+host+"/", strings.NewReader("payload"))
	req.Header.Set("Expect", "100-continue")
	resp, err := c.Do(req)
	if got := body(t, resp, err); got != "payload" {
		t.Errorf("got %q", got)
	}
}

// G7: a chunk is one TLS record, not three.
func TestOneRecordPerChunk(t *testing.T) {
	const chunks = 20
	seen := make(chan struct{})
	a := authority(t)
	p := start(t, proxy.Config{CA: a}, func(w http.ResponseWriter, r *http.Request) {
		for range chunks {
			_, _ = w.Write(bytes.Repeat([]byte("e"), 150))
			await(r.Context(), seen)
		}
	})
	count := &recordCounter{Conn: connect(t, p)}
	_ = count.SetDeadline(time.Now().Add(deadline))
	conn := tls.Client(count, &tls.Config{RootCAs: a.Pool(), ServerName: host})
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 150)
	var before int
	for i := range chunks {
		if _, err := io.ReadFull(resp.Body, buf); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			before = count.records
		}
		seen <- struct{}{}
	}
	if got := count.records - before; got != chunks-1 {
		t.Errorf("%d records for %d chunks", got, chunks-1)
	}
}

// A reply of unknown length that is there as a whole is one TLS record, its header and its end
// included, and its length is not announced.
func TestOneRecordPerWholeReply(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = record.WriteEnd(w, []byte("whole"))
	})
	count := &recordCounter{Conn: connect(t, p)}
	_ = count.SetDeadline(time.Now().Add(deadline))
	conn := tls.Client(count, &tls.Config{RootCAs: a.Pool(), ServerName: host})
	defer func() { _ = conn.Close() }()
	replies, before := bufio.NewReader(conn), 0
	for range 2 { // with the first come the records of the handshake
		before = count.records
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		resp, err := http.ReadResponse(replies, nil)
		if got := body(t, resp, err); got != "whole" || !slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
			t.Errorf("got %q, encoded as %q, %d bytes announced", got, resp.TransferEncoding, resp.ContentLength)
		}
	}
	if got := count.records - before; got != 1 {
		t.Errorf("%d records for a whole reply", got)
	}
}

// connect opens a tunnel to host.
func connect(tb testing.TB, p *proxy.Proxy) net.Conn {
	tb.Helper()
	conn := dial(tb, p)
	_, _ = io.WriteString(conn, "CONNECT "+host+":443 HTTP/1.1\r\nHost: "+host+":443\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("CONNECT: %v %v", resp, err)
	}
	return conn
}

// recordCounter counts the TLS records that come in.
type recordCounter struct {
	net.Conn
	records int
	header  []byte
	left    int
}

func (c *recordCounter) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for data := p[:n]; len(data) > 0; {
		if c.left > 0 {
			skip := min(c.left, len(data))
			c.left, data = c.left-skip, data[skip:]
			continue
		}
		c.header, data = append(c.header, data[0]), data[1:]
		if len(c.header) == 5 {
			c.left = int(c.header[3])<<8 | int(c.header[4])
			c.records, c.header = c.records+1, nil
		}
	}
	return n, err
}

// A client may send its first TLS bytes without waiting for the tunnel.
func TestEagerClient(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a},
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") })
	conn := tls.Client(&eagerConn{Conn: dial(t, p)}, &tls.Config{RootCAs: a.Pool(), ServerName: host})
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if got := body(t, resp, err); got != "hello" {
		t.Errorf("got %q", got)
	}
}

// eagerConn sends CONNECT together with the first bytes of what follows.
type eagerConn struct {
	net.Conn
	sent, answered sync.Once
}

func (c *eagerConn) Write(p []byte) (int, error) {
	connect := ""
	c.sent.Do(func() { connect = "CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\n\r\n" })
	n, err := c.Conn.Write(append([]byte(connect), p...))
	return n - len(connect), err
}

func (c *eagerConn) Read(p []byte) (n int, err error) {
	c.answered.Do(func() {
		for tail := ""; !strings.HasSuffix(tail, "\r\n\r\n") && err == nil; {
			one := make([]byte, 1)
			_, err = c.Conn.Read(one)
			tail += string(one)
		}
	})
	if err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// G13: the client is not led around the proxy; G14, G19 are the recorder's.
func TestHopByHopHeadersStay(t *testing.T) {
	_, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Alt-Svc", "Keep-Alive", "Proxy-Authenticate", "X-Kept"} {
			w.Header().Set(name, "v")
		}
	})
	resp, err := c.Get("https://" + host + "/")
	body(t, resp, err)
	for name, want := range map[string]string{"Alt-Svc": "", "Keep-Alive": "", "Proxy-Authenticate": "",
		"X-Kept": "v"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// G16: what cannot be recorded is refused, so that clients fall back at once.
func TestWebSocketIsRefused(t *testing.T) {
	_, c, _ := setup(t, func(http.ResponseWriter, *http.Request) { t.Error("reached the handler") })
	req, _ := http.NewRequest(http.MethodGet, "https://"+host+"/v1/responses", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	resp, err := c.Do(req)
	if body(t, resp, err); resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("status %d, want 426", resp.StatusCode)
	}
}

// G10: the second connection of a client resumes its session.
func TestConnectionsResume(t *testing.T) {
	_, c, tr := setup(t, nil404)
	tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	tr.DisableKeepAlives = true
	for i, want := range []bool{false, true} {
		resp, err := c.Get("https://" + host + "/")
		if body(t, resp, err); resp.TLS.DidResume != want {
			t.Errorf("connection %d: resumed %t, want %t", i, resp.TLS.DidResume, want)
		}
	}
}

// G17: closing lets streams end, though their connections were hijacked.
func TestCloseWaitsForStreams(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	p, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first ")
		close(started)
		await(r.Context(), release)
		_, _ = io.WriteString(w, "last")
	})
	resp, err := c.Get("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	<-started
	closed := make(chan error)
	go func() { closed <- p.Close(context.Background()) }()
	waitRefused(t, p)
	close(release)
	if got := body(t, resp, nil); got != "first last" {
		t.Errorf("got %q", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// waitRefused returns when the proxy accepts no more connections.
func waitRefused(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

func TestCloseCutsWhatOverstays(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	p, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first ")
		close(started)
		<-r.Context().Done()
		close(ended)
	})
	resp, err := c.Get("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	select {
	case <-ended:
	default:
		t.Error("Close returned while a handler was running")
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the cut reply looks complete")
	}
}
