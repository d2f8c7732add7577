package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/internal/websocket"
)

// server is a provider that answers each request with the next response. What it got
// stands in messages, one line each: the WebSocket, the previous response and the number
// of input items.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	sockets  websocket.Ordinals
	messages []string
	// instead answers a request in the place of a response, if it is not nil and returns a
	// status.
	instead func(n int) (status int, body string)
	// hold, if not nil, is read before the reply ends.
	hold chan struct{}
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !websocket.IsUpgrade(r) {
			s.answer(w, r)
			return
		}
		websocket.Serve(w, r, websocket.Config{Turns: http.HandlerFunc(s.answer)})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Previous string `json:"previous_response_id"`
		Input    []any  `json:"input"`
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	s.mu.Lock()
	at := "HTTP"
	if ordinal := s.sockets.Of(r.Context()); ordinal != 0 {
		at = fmt.Sprint(ordinal)
	}
	n := len(s.messages)
	s.messages = append(s.messages, strings.TrimSpace(fmt.Sprintf("%s %d %s", at, len(q.Input), q.Previous)))
	s.mu.Unlock()
	if s.instead != nil {
		if status, body := s.instead(n); status != 0 {
			if status == http.StatusOK {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(
		w,
		"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"status\":\"completed\",\"text\":\"%d\"}}\n\n",
		n,
	)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = fmt.Fprintf(w, "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_%d\"}}\n\n", n)
}

// conversation is a client that sends the whole conversation each time.
type conversation struct {
	t     *testing.T
	via   http.RoundTripper
	url   string
	items []string
}

func (c *conversation) request() *http.Request {
	c.t.Helper()
	body := `{"model":"m","stream":true,"input":[` + strings.Join(c.items, ",") + `]}`
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/v1/responses", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer k")
	return r
}

// next says something and returns the request for a reply.
func (c *conversation) next() *http.Request {
	c.t.Helper()
	c.items = append(c.items, fmt.Sprintf(`{"role":"user","content":%d}`, len(c.items)))
	return c.request()
}

// ask says something, reads the reply to its end and remembers it.
func (c *conversation) ask() int {
	c.t.Helper()
	resp, err := c.via.RoundTrip(c.next())
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, text, found := strings.Cut(string(body), `"text":"`); found {
		text, _, _ = strings.Cut(text, `"`)
		c.items = append(c.items, `{"type":"message","text":"`+text+`"}`)
	}
	return resp.StatusCode
}

func (s *server) wantMessages(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.messages, ", "); got != strings.Join(want, ", ") {
		t.Errorf("the provider got %s\nnot               %s", got, strings.Join(want, ", "))
	}
}

func newTransport(t *testing.T, s *server) (*socketTransport, *conversation) {
	t.Helper()
	via := &socketTransport{Base: http.DefaultTransport}
	t.Cleanup(via.Close)
	return via, &conversation{t: t, via: via, url: s.URL}
}

func TestOnlyWhatIsNewIsSent(t *testing.T) {
	s := newServer(t)
	via, c := newTransport(t, s)
	c.ask()
	c.ask()
	other := &conversation{t: t, via: via, url: s.URL, items: []string{`{"role":"user","content":"other"}`}}
	other.ask() // beside the first, whose connection keeps its own
	c.ask()
	other.ask()
	c.items[0] = `{"role":"user","content":"edited"}`
	c.ask()
	s.wantMessages(t, "1 1", "1 1 resp_0", "2 2", "1 1 resp_1", "2 1 resp_2", "3 7")

	via.Close()
	other.ask()
	s.wantMessages(t, "1 1", "1 1 resp_0", "2 2", "1 1 resp_1", "2 1 resp_2", "3 7", "4 6")
}

// TestRefusedIsSentWhole: behind a refusal or a loss the whole conversation goes out.
func TestRefusedIsSentWhole(t *testing.T) {
	s := newServer(t)
	s.instead = func(n int) (int, string) {
		switch n {
		case 1:
			return 400, `{"error":{"code":"previous_response_not_found","message":"gone"}}`
		case 3:
			return 400, `{"error":{"code":"websocket_connection_limit_reached","message":"60 minutes"}}`
		case 5:
			return 429, `{"error":{"code":"rate_limit_exceeded"}}`
		}
		return 0, ""
	}
	_, c := newTransport(t, s)
	var got []int
	for range 5 {
		got = append(got, c.ask())
	}
	if fmt.Sprint(got) != "[200 200 200 429 200]" {
		t.Error(got)
	}
	s.wantMessages(t, "1 1", "1 1 resp_0", "2 3", "2 1 resp_2", "3 5", "3 1 resp_4", "4 8")
}

// TestLostTwiceIsReported: the whole conversation is sent once, not for ever.
func TestLostTwiceIsReported(t *testing.T) {
	s := newServer(t)
	s.instead = func(int) (int, string) {
		return 400, `{"error":{"code":"websocket_connection_limit_reached"}}`
	}
	_, c := newTransport(t, s)
	if got := c.ask(); got != 400 {
		t.Error(got)
	}
	s.wantMessages(t, "1 1", "2 1")
}

// TestLeftReplyEndsItsConnection: the rest of a reply that nobody reads is not the next
// one.
func TestLeftReplyEndsItsConnection(t *testing.T) {
	s := newServer(t)
	s.hold = make(chan struct{})
	_, c := newTransport(t, s)
	c.items = []string{`{"role":"user","content":"hi"}`}
	resp, err := c.via.RoundTrip(c.request())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(resp.Body.Close(), resp.Body.Close()); err != nil {
		t.Error(err)
	}
	close(s.hold)
	c.ask()
	s.wantMessages(t, "1 1", "2 2")
}

// TestHandshakes: without WebSockets everything goes by HTTP from then on; a refusal of the
// client is the reply.
func TestHandshakes(t *testing.T) {
	const byHTTP = "[200 200], HTTP 1, HTTP 3"
	for status, want := range map[int]string{
		426: byHTTP, 404: byHTTP, 400: byHTTP, 403: byHTTP, 302: byHTTP, 200: byHTTP, 501: byHTTP,
		401: "[401 401]", 429: "[429 429]", 503: "[503 503]",
	} {
		s, dials := newServer(t), 0
		answer := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if websocket.IsUpgrade(r) {
				dials++
				if r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Accept") != "" {
					t.Error(r.Header)
				}
				http.Error(w, "no", status)
				return
			}
			answer.ServeHTTP(w, r)
		})
		_, c := newTransport(t, s)
		got := strings.Join(append([]string{fmt.Sprint([]int{c.ask(), c.ask()})}, s.messages...), ", ")
		if got != want || (dials == 1) != (want == byHTTP) {
			t.Errorf("%d: %s after %d handshakes, not %s", status, got, dials, want)
		}
	}
}

// TestRefusedInPlaceOfAnother: a handshake that is refused after a connection could not go
// on is like a first one.
func TestRefusedInPlaceOfAnother(t *testing.T) {
	for status, want := range map[int]string{
		429: "200 429 7, 1 1, 1 1 resp_0", 426: "200 200 , 1 1, 1 1 resp_0, HTTP 3",
	} {
		s, dials := newServer(t), 0
		s.instead = func(n int) (int, string) {
			if n == 1 {
				return 400, `{"error":{"code":"websocket_connection_limit_reached"}}`
			}
			return 0, ""
		}
		answer := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if websocket.IsUpgrade(r) {
				if dials++; dials == 2 {
					w.Header().Set("Retry-After", "7")
					http.Error(w, "no", status)
					return
				}
			}
			answer.ServeHTTP(w, r)
		})
		_, c := newTransport(t, s)
		first := c.ask()
		resp, err := c.via.RoundTrip(c.next())
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got := fmt.Sprintf(
			"%d %d %s, %s", first, resp.StatusCode, resp.Header.Get("Retry-After"), strings.Join(s.messages, ", "),
		)
		if got != want {
			t.Errorf("%d: %s, not %s", status, got, want)
		}
	}
}

// TestReplyTwice: the last reply is not taken for the next one.
func TestReplyTwice(t *testing.T) {
	s := newServer(t)
	s.instead = func(n int) (int, string) {
		if n == 1 {
			return 200, "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_0\"}}\n\n"
		}
		return 0, ""
	}
	_, c := newTransport(t, s)
	c.ask()
	resp, err := c.via.RoundTrip(c.next())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if !errors.Is(err, errReplyTwice) || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	_ = resp.Body.Close()
	c.ask()
	s.wantMessages(t, "1 1", "1 1 resp_0", "2 4")
}

// TestOthersGoByHTTP: what asks for no stream of responses is not for a WebSocket.
func TestOthersGoByHTTP(t *testing.T) {
	s := newServer(t)
	_, c := newTransport(t, s)
	unary := c.request()
	unary.Header.Set("Accept", "application/json")
	compact := c.request()
	compact.URL.Path += "/compact"
	broken := c.request()
	broken.Body = io.NopCloser(strings.NewReader("{"))
	broken.ContentLength = 1
	for _, r := range []*http.Request{unary, compact, broken} {
		resp, err := c.via.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	s.wantMessages(t, "HTTP 0", "HTTP 0", "HTTP 0")
}

// TestIdleConnectionsAreFew: no more than maxIdle connections wait.
func TestIdleConnectionsAreFew(t *testing.T) {
	s := newServer(t)
	via, _ := newTransport(t, s)
	for n := range maxIdleSockets + 3 {
		c := &conversation{t: t, via: via, url: s.URL, items: []string{fmt.Sprint(n)}}
		c.ask()
	}
	if len(via.idle) != maxIdleSockets {
		t.Errorf("%d connections wait", len(via.idle))
	}
}
