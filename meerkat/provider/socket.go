package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// maxIdleSockets is how many connections wait for requests. Each holds one conversation, so that
// parallel sub-agents do not send theirs whole.
const maxIdleSockets = 8

// socketTransport sends streamed requests of OpenAI's Responses API over WebSockets, which it
// opens by way of Base. Other requests go to Base, and all of them do once the provider has
// refused a WebSocket. It is safe for concurrent use.
//
// The connections stay open between requests. A request brings the whole conversation. Where it
// begins with the last request that a connection carried, followed by its reply, the rest
// travels alone, with previous_response_id. Everything else is sent whole: the first request of
// a connection, and those after a failure, an edited history or another model.
//
// Source: developers.openai.com/docs/guides/websocket-mode.
type socketTransport struct {
	// Base opens connections and sends what is not for WebSockets.
	Base http.RoundTripper

	mu       sync.Mutex
	idle     []*socket // the one that was used last at the end
	declined bool      // the provider speaks no WebSockets
}

// socket is a WebSocket and what the provider holds of it.
type socket struct {
	*websocket.Upstream
	last *heldResponse // nil before the first reply
}

// RoundTrip sends a request and returns the reply as HTTP would give it. A reply whose
// previous response the provider has lost is asked for again, whole, and so is one that
// came when the connection was at the end of its time; nothing was answered then.
func (t *socketTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.isCarried(r) {
		return t.Base.RoundTrip(r)
	}
	body, err := readRequestBody(r)
	if err != nil {
		return nil, err
	}
	again := func() *http.Request {
		clone := r.Clone(r.Context())
		clone.Body = io.NopCloser(bytes.NewReader(body))
		return clone
	}
	q, err := parseSocketRequest(body)
	if err != nil {
		return t.Base.RoundTrip(again()) // the provider says what is wrong with it
	}
	resp, err := t.exchange(r, q)
	if refusal := (*websocket.Refusal)(nil); errors.As(err, &refusal) {
		if !t.noteRefusal(refusal.Status) {
			return refusal.Response(r), nil
		}
		return t.Base.RoundTrip(again())
	}
	return resp, err
}

// exchange sends q over a connection, and again over a new one where that cannot go on. The
// error is a *websocket.Refusal when the provider opened none.
func (t *socketTransport) exchange(r *http.Request, q socketRequest) (*http.Response, error) {
	conn, err := t.takeConnection(r, q)
	if err != nil {
		return nil, err
	}
	resp, err := t.send(r, q, conn)
	if err != nil || !cannotGoOn(resp) {
		return resp, err
	}
	_ = resp.Body.Close()
	if conn, err = t.dial(r); err != nil {
		return nil, err
	}
	return t.send(r, q, conn)
}

// send sends q over conn, as far as the provider does not hold it.
func (t *socketTransport) send(r *http.Request, q socketRequest, conn *socket) (*http.Response, error) {
	previous, input := "", conn.last.newInput(q)
	if len(input) > 0 {
		previous = conn.last.id
	}
	message, err := createMessage(q, previous, input)
	if err != nil {
		return nil, err
	}
	clone := r.Clone(r.Context())
	clone.Body, clone.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	resp, err := conn.RoundTrip(clone)
	if err != nil {
		conn.Close()
		return nil, err
	}
	resp.Request = r
	if resp.StatusCode != http.StatusOK {
		conn.Close() // it holds nothing now, and more about the refusal may come over it
		return resp, nil
	}
	reply := &socketReply{ReadCloser: resp.Body, request: q, previous: previous, release: func(last *heldResponse) {
		conn.last = last
		// Keep a connection for the requests that come.
		t.mu.Lock()
		defer t.mu.Unlock()
		t.idle = append(t.idle, conn)
		if len(t.idle) > maxIdleSockets {
			t.idle[0].Close()
			t.idle = slices.Delete(t.idle, 0, 1)
		}
	}, abandon: conn.Close}
	reply.events = stream.NewSSE(0, reply.readEvent)
	resp.Body = reply
	return resp, nil
}

// isCarried reports whether r is a request for a streamed reply of the Responses API.
func (t *socketTransport) isCarried(r *http.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.declined && r.Method == http.MethodPost && r.Body != nil &&
		strings.HasSuffix(r.URL.Path, "/responses") && r.Header.Get("Accept") == "text/event-stream"
}

// noteRefusal reports whether a status means that there are no WebSockets here, and remembers
// it. A gateway without them may answer a handshake with any status; a wrong key, a limit and
// a failure are about this one handshake.
func (t *socketTransport) noteRefusal(status int) bool {
	if status == http.StatusUnauthorized || status == http.StatusTooManyRequests ||
		status >= 500 && status != http.StatusNotImplemented {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.declined = true
	return true
}

// takeConnection returns a connection that holds the beginning of q, or a new one.
func (t *socketTransport) takeConnection(r *http.Request, q socketRequest) (*socket, error) {
	if conn := t.takeIdle(q); conn != nil {
		return conn, nil
	}
	return t.dial(r)
}

// takeIdle returns an idle connection that q goes on with, nil if there is none.
func (t *socketTransport) takeIdle(q socketRequest) *socket {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = slices.DeleteFunc(t.idle, func(c *socket) bool {
		if c.IsIdle() {
			return false
		}
		c.Close()
		return true
	})
	at := slices.IndexFunc(t.idle, func(c *socket) bool { return len(c.last.newInput(q)) > 0 })
	if at < 0 {
		return nil
	}
	conn := t.idle[at]
	t.idle = slices.Delete(t.idle, at, at+1)
	return conn
}

// Close ends the connections that wait for requests. The transport can still be used.
func (t *socketTransport) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, conn := range t.idle {
		conn.Close()
	}
	t.idle = nil
}

// dial opens a connection with the headers of a request.
func (t *socketTransport) dial(r *http.Request) (*socket, error) {
	handshake := r.Clone(r.Context())
	handshake.Body = nil
	for _, name := range []string{"Accept", "Accept-Encoding", "Content-Type"} {
		handshake.Header.Del(name) // of the request over HTTP
	}
	up, err := websocket.Dial(r.Context(), handshake, t.Base, nil)
	if err != nil {
		return nil, err
	}
	return &socket{Upstream: up}, nil
}

func readRequestBody(r *http.Request) ([]byte, error) {
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	return body, nil
}

// cannotGoOn reports whether a refusal says that the connection, and not the request, is at
// fault. The body can still be read.
func cannotGoOn(resp *http.Response) bool {
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		return false
	}
	body, err := io.ReadAll(resp.Body) // it is a message in memory
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var refusal struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	return err == nil && json.Unmarshal(body, &refusal) == nil &&
		(refusal.Error.Code == "previous_response_not_found" ||
			refusal.Error.Code == "websocket_connection_limit_reached")
}
