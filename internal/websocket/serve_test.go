package websocket

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	coder "github.com/coder/websocket"
)

const event = `{"type":"response.created"}`
const lastEvent = `{"type":"response.completed","response":{"id":"resp_1"}}`

// sse answers with events.
func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, "event: x\ndata: "+e+"\n\n")
	}
}

// serve starts a server that answers with turns, and returns its URL.
func serve(t *testing.T, turns http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Serve(w, r, Config{Turns: turns, Header: http.Header{"X-Added": {"v"}, "Connection": {"close"}}})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/responses"
}

// connect connects a stock client.
func connect(t *testing.T, url string, opts *coder.DialOptions) (*coder.Conn, *http.Response) {
	t.Helper()
	conn, resp, err := coder.Dial(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return conn, resp
}

func send(t *testing.T, conn *coder.Conn, message string) {
	t.Helper()
	if err := conn.Write(t.Context(), coder.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn *coder.Conn) string {
	t.Helper()
	_, message, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(message)
}

// closedWith returns how the server ended a connection: -1 without a close frame.
func closedWith(t *testing.T, conn *coder.Conn) coder.StatusCode {
	t.Helper()
	for {
		if _, _, err := conn.Read(t.Context()); err != nil {
			return coder.CloseStatus(err)
		}
	}
}

const create = `{"type":"response.create","model":"m"}`

func TestMessagesAreRequests(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" || r.Header.Get("X-Mine") != "1" ||
			r.Header.Get("Upgrade") != "" || r.Header.Get("Sec-Websocket-Key") != "" || SessionOf(r.Context()) == nil {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		sse(w, event, fmt.Sprintf(`{"type":"response.completed","echo":%q}`, body), "[DONE]")
	})
	conn, resp := connect(t, url, &coder.DialOptions{HTTPHeader: http.Header{"X-Mine": {"1"}},
		CompressionMode: coder.CompressionContextTakeover})
	if resp.Header.Get("X-Added") != "v" || resp.Header.Get("Sec-Websocket-Extensions") != "" {
		t.Errorf("handshake %v: want the added header and no compression", resp.Header)
	}
	for range 2 {
		send(t, conn, create)
		if got := receive(t, conn); got != event {
			t.Errorf("got %s", got)
		}
		if got := receive(t, conn); !strings.Contains(got, `response.create`) {
			t.Errorf("got %s", got)
		}
	}
}

func TestRefusalsAreErrorMessages(t *testing.T) {
	answers := map[string]struct {
		status     int
		body, want string
	}{
		"an error": {429, `{"error":{"code":"rate_limit_exceeded"}}`,
			`{"type":"error","status":429,"error":{"code":"rate_limit_exceeded"},"headers":{"retry-after":"7"}}`},
		"a message": {400, `{"type":"error","status":400,"error":{}}` + "\n",
			`{"type":"error","status":400,"error":{}}`},
		"a text": {502, "bad \xff gateway",
			`{"type":"error","status":502,"error":{"code":null,"message":"bad ` + "\uFFFD" +
				` gateway","param":null,"type":"server_error"},"headers":{"retry-after":"7"}}`},
		"an error in a text": {404, `{"error":"gone"}`,
			`{"type":"error","status":404,"error":{"code":null,"message":"{\"error\":\"gone\"}","param":null,"type":"invalid_request_error"},"headers":{"retry-after":"7"}}`},
		"a reply in one part": {200, `{"object":"response"}`, `{"object":"response"}`},
	}
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			conn, _ := connect(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(a.status)
				_, _ = io.WriteString(w, a.body)
			}), nil)
			for range 2 { // the connection goes on
				send(t, conn, create)
				if got := receive(t, conn); got != a.want {
					t.Errorf("got  %s\nwant %s", got, a.want)
				}
			}
		})
	}
}

func TestMessagesThatAreNotAnswered(t *testing.T) {
	conn, _ := connect(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(body)
	}), nil)
	send(t, conn, `{"type":"response.steer"}`)
	send(t, conn, `no JSON`)
	if got := receive(t, conn); !strings.Contains(got, "no JSON") {
		t.Errorf("got %s: want the answer to the malformed message only", got)
	}
	if err := conn.Ping(conn.CloseRead(t.Context())); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestBadConnectionsEndWithAStatus(t *testing.T) {
	tests := map[string]struct {
		turns http.HandlerFunc
		kind  coder.MessageType
		send  []byte
		want  coder.StatusCode
	}{
		"binary":   {nil, coder.MessageBinary, []byte(create), coder.StatusUnsupportedData},
		"too long": {nil, coder.MessageText, make([]byte, MaxMessage+2), coder.StatusMessageTooBig},
		"without its end": {func(w http.ResponseWriter, _ *http.Request) { sse(w, event) }, coder.MessageText,
			[]byte(create), coder.StatusInternalError},
		"cut": {func(w http.ResponseWriter, _ *http.Request) { sse(w, event); panic(http.ErrAbortHandler) },
			coder.MessageText, []byte(create), -1},
		"a reply too long": {func(w http.ResponseWriter, _ *http.Request) { sse(w, string(make([]byte, MaxMessage))) },
			coder.MessageText, []byte(create), coder.StatusInternalError},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			conn, _ := connect(t, serve(t, tt.turns), nil)
			_ = conn.Write(t.Context(), tt.kind, tt.send) // the server may stop reading
			if got := closedWith(t, conn); got != tt.want {
				t.Errorf("closed with %d, want %d", got, tt.want)
			}
		})
	}
}

// TestClosingWaitsForTheReply holds that a connection ends behind the reply under way.
func TestClosingWaitsForTheReply(t *testing.T) {
	closing, began := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turns := func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-closing
			sse(w, event, lastEvent)
		}
		Serve(w, r.WithContext(WithClosing(r.Context(), closing)), Config{Turns: http.HandlerFunc(turns)})
	}))
	defer s.Close()
	conn, _ := connect(t, s.URL, nil)
	send(t, conn, create)
	<-began
	close(closing)
	if got := receive(t, conn) + receive(t, conn); got != event+lastEvent {
		t.Errorf("got %s", got)
	}
	if got := closedWith(t, conn); got != coder.StatusGoingAway {
		t.Errorf("closed with %d", got)
	}
}

// TestTheLastEventWaitsForTheHandler holds that a client which leaves with the terminal
// event has not left before the handler was done with its reply.
func TestTheLastEventWaitsForTheHandler(t *testing.T) {
	for range 20 {
		var isDone atomic.Bool
		conn, _ := connect(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			sse(w, event, lastEvent)
			for range 1000 { // time for what was sent to arrive
				runtime.Gosched()
			}
			isDone.Store(r.Context().Err() == nil)
		}), nil)
		send(t, conn, create)
		receive(t, conn)
		if got := receive(t, conn); got != lastEvent || !isDone.Load() {
			t.Fatalf("got %s, the handler is done: %t", got, isDone.Load())
		}
		_ = conn.CloseNow()
	}
}

// TestLeavingEndsTheReply holds that a handler learns that its client is gone.
func TestLeavingEndsTheReply(t *testing.T) {
	ended := make(chan error, 1)
	conn, _ := connect(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, event)
		<-r.Context().Done()
		_, err := io.WriteString(w, "data: "+lastEvent+"\n\n")
		ended <- err
	}), nil)
	send(t, conn, create)
	receive(t, conn)
	_ = conn.CloseNow()
	if err := <-ended; err == nil {
		t.Error("the write to a client that is gone succeeded")
	}
}

func TestBadHandshakes(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached the handler") })
	for name, change := range map[string]func(http.Header){
		"no key":         func(h http.Header) { h.Del("Sec-Websocket-Key") },
		"old version":    func(h http.Header) { h.Set("Sec-Websocket-Version", "8") },
		"of a web page":  func(h http.Header) { h.Set("Origin", "https://example.com") },
		"no connection":  func(h http.Header) { h.Del("Connection") },
		"not a base64-k": func(h http.Header) { h.Set("Sec-Websocket-Key", "?") },
	} {
		r, _ := http.NewRequest(http.MethodGet, url, nil)
		r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"MDEyMzQ1Njc4OTAxMjM0NQ=="}}
		change(r.Header)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(name, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
}

// FuzzEventsAreMessages holds that a message survives as a server-sent event, however the
// stream is cut.
func FuzzEventsAreMessages(f *testing.F) {
	f.Add("{\n  \"type\": \"x\"\r\n}", 3)
	f.Add("a\rb\n\n c", 1)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, message string, cut int) {
		stream := string(eventOf([]byte(message))) + ": comment\r\n\r\ndata: end\r\n\r\n"
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(message)
		var got []string
		var s eventScanner
		for rest := stream; rest != ""; {
			n := min(max(cut%7, 1), len(rest))
			if err := s.scanEvents([]byte(rest[:n]),
				func(data []byte) error { got = append(got, string(data)); return nil }); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if len(got) != 2 || got[0] != want || got[1] != "end" {
			t.Errorf("%q became %q", want, got)
		}
	})
}
