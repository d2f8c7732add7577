package websocket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coder "github.com/coder/websocket"
)

// provider is a server that accepts WebSockets and hands each to talk.
func provider(t *testing.T, talk func(ctx context.Context, conn *coder.Conn)) *http.Request {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Provider", "p")
		conn, err := coder.Accept(w, r, &coder.AcceptOptions{Subprotocols: []string{"two"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(-1)
		talk(r.Context(), conn)
	}))
	t.Cleanup(s.Close)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/responses", nil)
	r.Header = http.Header{"Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {"one, two"},
		"Sec-Websocket-Key": {"client's"}}
	return r
}

func say(conn *coder.Conn, messages ...string) {
	for _, m := range messages {
		_ = conn.Write(context.Background(), coder.MessageText, []byte(m))
	}
}

// ask sends one message and returns the reply with what its body ended with.
func ask(t *testing.T, up *Upstream) (*http.Response, string, error) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/v1/responses", strings.NewReader(create))
	resp, err := up.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestUpstreamRepliesAreStreams(t *testing.T) {
	const failure = `{"type":"error","status_code":429,"error":{"code":"rate_limit_exceeded"},"headers":{"retry-after":"7","bad name":"x","x-number":7,"sec-websocket-key":"k"}}`
	handshake := provider(t, func(ctx context.Context, conn *coder.Conn) {
		for _, reply := range [][]string{{event, "{\"type\":\n\"response.completed\"}"}, {failure},
			{`{"type":"error","error":{}}`}} {
			if _, got, err := conn.Read(ctx); err != nil || string(got) != create {
				t.Errorf("the provider got %q, %v", got, err)
			}
			say(conn, reply...)
		}
	})
	session, ctx := WithSession(handshake)
	up, err := session.Connect(ctx, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	defer session.closeUpstream()
	if again, err := session.Connect(ctx, nil); again != up || err != nil {
		t.Error("a second connection was made")
	}
	if up.Header.Get("X-Provider") != "p" || up.Header.Get("Upgrade") != "" || up.Subprotocol != "two" {
		t.Errorf("handshake: %v, %q", up.Header, up.Subprotocol)
	}
	resp, body, err := ask(t, up)
	if want := "data: " + event + "\n\ndata: {\"type\":\ndata: \"response.completed\"}\n\n"; body != want ||
		err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%d %q, %v", resp.StatusCode, body, err)
	}
	resp, body, err = ask(t, up)
	if body != failure || err != nil || resp.StatusCode != http.StatusTooManyRequests ||
		resp.Header.Get("Retry-After") != "7" || len(resp.Header["Sec-Websocket-Key"]) > 0 {
		t.Errorf("%d %v %q, %v", resp.StatusCode, resp.Header, body, err)
	}
	if resp, body, _ := ask(t, up); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"error"`) {
		t.Errorf("an error without a status: %d %q", resp.StatusCode, body)
	}
}

// TestFailureBehindAnError holds that response.failed, which follows an error within a
// stream, belongs to the same reply, and that the error alone ends one as well.
func TestFailureBehindAnError(t *testing.T) {
	const fault, failed, done = `{"type":"error","error":{"code":"server_is_overloaded"}}`,
		`{"type":"response.failed"}`, `{"type":"response.completed"}`
	replies := [][]string{{event, fault, failed}, {event, fault}, {done}}
	handshake := provider(t, func(ctx context.Context, conn *coder.Conn) {
		for _, reply := range replies {
			if _, _, err := conn.Read(ctx); err != nil {
				t.Error(err)
			}
			say(conn, reply...)
		}
	})
	session, ctx := WithSession(handshake)
	up, err := session.Connect(ctx, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	defer session.closeUpstream()
	for i, reply := range replies {
		want := "data: " + strings.Join(reply, "\n\ndata: ") + "\n\n"
		if _, body, err := ask(t, up); body != want || err != nil {
			t.Errorf("reply %d: %q, %v; want %q", i, body, err, want)
		}
	}
}

// TestEndsArePassedOn holds that a client sees its connection end as the provider ended
// its own: in mid-reply, between replies, and without a word.
func TestEndsArePassedOn(t *testing.T) {
	tests := map[string]struct {
		talk func(ctx context.Context, conn *coder.Conn)
		want coder.StatusCode
		err  error // of the body
	}{
		"closed in mid-reply": {func(ctx context.Context, conn *coder.Conn) {
			_, _, _ = conn.Read(ctx)
			say(conn, event)
			_ = conn.Close(4001, "limit")
		}, 4001, io.EOF},
		"closed when idle": {func(_ context.Context,
			conn *coder.Conn) {
			_ = conn.Close(coder.StatusServiceRestart, "")
		}, coder.StatusServiceRestart, nil},
		"broken off": {func(ctx context.Context, conn *coder.Conn) {
			_, _, _ = conn.Read(ctx)
			say(conn, event)
		}, -1, io.ErrUnexpectedEOF},
		"binary": {func(ctx context.Context, conn *coder.Conn) {
			_, _, _ = conn.Read(ctx)
			say(conn, event)
			_ = conn.Write(ctx, coder.MessageBinary, []byte("x"))
			_, _, _ = conn.Read(ctx)
		}, -1, io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			to := provider(t, tt.talk).URL
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.URL = to
				r.Host = ""
				session, ctx := WithSession(r)
				r = r.WithContext(ctx)
				up, err := session.Connect(ctx, http.DefaultTransport)
				if err != nil {
					t.Error(err)
					return
				}
				Serve(w, r, Config{Turns: relay(t, up, tt.err)})
			}))
			defer s.Close()
			conn, _ := connect(t, s.URL, nil)
			if tt.err != nil {
				send(t, conn, create)
			}
			if got := closedWith(t, conn); got != tt.want {
				t.Errorf("closed with %d, want %d", got, tt.want)
			}
		})
	}
}

// relay passes replies on, as a recorder does, and checks how they end.
func relay(t *testing.T, up *Upstream, want error) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := up.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		_, err = io.Copy(w, resp.Body)
		if (err == nil) != errors.Is(want, io.EOF) {
			t.Errorf("the reply ended with %v", err)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	})
}

// TestRefusedHandshakes holds that the provider's words arrive whole.
func TestRefusedHandshakes(t *testing.T) {
	long := strings.Repeat("x", 5000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("X-Kept", "v")
		w.WriteHeader(http.StatusUnauthorized)
		if r.URL.Path == "/long" {
			_, _ = w.Write(make([]byte, maxRefusal+1))
			return
		}
		_, _ = io.WriteString(w, long)
	}))
	defer s.Close()
	for path, want := range map[string]int{"/v1/responses": 401, "/redirect": 307} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		session, ctx := WithSession(r)
		_, err := session.Connect(ctx, http.DefaultTransport)
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Status != want {
			t.Fatalf("%s: %v", path, err)
		}
		if want == 401 && (string(refusal.Body) != long || refusal.Header.Get("X-Kept") != "v") {
			t.Errorf("%d bytes, %v", len(refusal.Body), refusal.Header)
		}
		if _, again := session.Connect(ctx, nil); !errors.Is(again, err) {
			t.Errorf("asked again: %v", again)
		}
	}
	endless, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/long", nil)
	if _, err := Dial(t.Context(), endless, http.DefaultTransport, nil); err == nil ||
		!strings.Contains(err.Error(), "no WebSocket to 127.0.0.1") || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a refusal that is too long to be kept whole: %v", err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/v1/responses", nil)
	session, ctx := WithSession(r)
	if _, err := session.Connect(ctx, http.DefaultTransport); err == nil || strings.Contains(err.Error(), "failed to") {
		t.Errorf("unreachable: %v", err)
	}
}

// A provider that never answers the handshake holds nobody for ever.
func TestHandshakeWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handshake := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://api.openai.com/v1/responses", nil)
		session, ctx := WithSession(handshake)
		connected := make(chan error)
		go func() {
			_, err := session.Connect(ctx, silent{})
			connected <- err
		}()
		synctest.Wait() // until it dials
		left, leave := context.WithCancel(ctx)
		leave()
		if err := session.Send(left, []byte("{}")); !errors.Is(err, context.Canceled) {
			t.Errorf("a message of a client that has left: %v", err)
		}
		if _, err := session.Connect(left, silent{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a second connection of a client that has left: %v", err)
		}
		begin := time.Now()
		if err := <-connected; !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > handshakeTimeout {
			t.Errorf("the dial ended with %v after %v", err, time.Since(begin))
		}
		if err := session.Send(ctx, []byte("{}")); err != nil {
			t.Errorf("a message without a connection: %v", err)
		}
	})
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
