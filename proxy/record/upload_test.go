package record_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/meerkat-go/conformance/proxy/record"
)

// A reply that comes before its request is complete reaches the client while that
// goes on sending, and both are kept whole.
func TestEarlyReplyReachesTheClient(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for _, length := range []int64{-1, 300} {
			t.Run(fmt.Sprint(name, " length ", length), func(t *testing.T) {
				complete := make(chan string, 1)
				g := newRig(t, h2, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
					if length > 0 {
						w.Header().Set("Content-Length", "5") // the client has the end, too, while it uploads
					}
					_ = http.NewResponseController(w).EnableFullDuplex()
					_, _ = io.ReadFull(r.Body, make([]byte, 100))
					_, _ = io.WriteString(w, "early")
					w.(http.Flusher).Flush()
					rest, _ := io.ReadAll(r.Body)
					complete <- string(rest)
				})
				g.tr.ForceAttemptHTTP2 = h2
				body, write := io.Pipe()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, body)
				check(t, err)
				req.ContentLength = length
				go func() { _, _ = write.Write(bytes.Repeat([]byte("a"), 100)) }()
				resp, err := g.client.Do(req) // returns before the upload ends
				check(t, err)
				early := make([]byte, 5)
				_, err = io.ReadFull(resp.Body, early)
				check(t, err)
				_, err = write.Write(bytes.Repeat([]byte("b"), 200))
				check(t, errors.Join(err, write.Close()))
				if !h2 && length > 0 {
					return // with the whole reply, net/http's clients send no more
				}
				if got := <-complete; string(early) != "early" || got != strings.Repeat("b", 200) {
					t.Errorf("the client read %q, the provider %q", early, got)
				}
				read(t, resp)
				in := g.only()
				if want := strings.Repeat("a", 100) + strings.Repeat("b", 200); string(in.Request.Body) != want ||
					string(in.Response.Body) != "early" || in.Duration < 0 {
					t.Errorf("kept %q, %q, %v", in.Request.Body, in.Response.Body, in.Duration)
				}
			})
		}
	}
}

// A request whose rest the client keeps to itself, after a reply that refuses it,
// is not kept as if it were whole.
func TestUploadThatStopsAfterTheReply(t *testing.T) {
	g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	body, write := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, body)
	check(t, err)
	req.ContentLength = 1 << 20
	go func() { _, _ = write.Write(make([]byte, 1000)) }()
	resp, err := g.client.Do(req)
	check(t, err)
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
	_ = resp.Body.Close()
	_ = write.CloseWithError(io.ErrClosedPipe)
	if r := g.close(); r.Saved != 0 || len(r.Lost) != 1 ||
		!strings.Contains(r.Lost[0], "the reply came before the request was complete") {
		t.Errorf("report %+v", r)
	}
}

// What a client sends after it was given up is not a request of its own.
func TestUploadThatGoesOnTooLate(t *testing.T) {
	g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // or else it waits for the request
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too large")
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.proxy.URL(), "http://"))
	check(t, err)
	defer func() { _ = conn.Close() }()
	check(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, _ = io.WriteString(conn, "CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n")
	_, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	check(t, err)
	inside := tls.Client(conn, &tls.Config{RootCAs: g.tr.TLSClientConfig.RootCAs, ServerName: "api.anthropic.com"})
	_, err = io.WriteString(inside,
		"POST /v1/messages HTTP/1.1\r\nHost: api.anthropic.com\r\nContent-Length: 1000\r\n\r\n{")
	check(t, err)
	answers := bufio.NewReader(inside)
	resp, err := http.ReadResponse(answers, nil)
	check(t, err)
	if text := read(t, resp); text != "too large" {
		t.Errorf("the reply is %q", text)
	}
	if rest, err := io.ReadAll(answers); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("then %q, %v: the connection goes on", rest, err)
	}
}

// The trailer of a request reaches the provider, whether the request was complete
// when it was sent on or not.
func TestRequestTrailers(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for _, isSlow := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " slow ", isSlow), func(t *testing.T) {
				arrived := make(chan struct{}, 1)
				var got string
				g := newRig(t, h2, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
					arrived <- struct{}{}
					data, _ := io.ReadAll(r.Body)
					got = string(data) + " " + r.Trailer.Get("X-Sum")
				})
				g.tr.ForceAttemptHTTP2 = h2
				var req *http.Request
				end := iotest.ErrReader(io.EOF)
				atEnd := readerFunc(func(p []byte) (int, error) {
					if isSlow {
						<-arrived
					}
					req.Trailer.Set("X-Sum", "42")
					return end.Read(p)
				})
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint,
					io.MultiReader(strings.NewReader("body"), atEnd))
				check(t, err)
				req.Trailer = http.Header{"X-Sum": nil}
				resp, err := g.client.Do(req)
				check(t, err)
				read(t, resp)
				if got != "body 42" {
					t.Errorf("the provider got %q", got)
				}
				if in := g.only(); string(in.Request.Body) != "body" {
					t.Errorf("kept %q", in.Request.Body)
				}
			})
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
