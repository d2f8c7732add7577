package websocket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	coder "github.com/coder/websocket"
)

// Session is one WebSocket of a client, from its handshake to its end. It is in the context of
// the requests that [Serve] makes of its messages. It is safe for concurrent use.
type Session struct {
	handshake *http.Request
	ordinal   int // set by Ordinals, guarded by its mutex

	lock     chan struct{} // holds one value while somebody uses upstream and refused
	upstream *Upstream
	refused  *Refusal
	ended    chan struct{} // closed when the provider has ended its side
	status   coder.StatusCode
	reason   string
	once     sync.Once // of noteEnd
}

type sessionKey struct{}

type closingKey struct{}

// WithSession returns a new session for the handshake r, and a context that has it.
func WithSession(r *http.Request) (*Session, context.Context) {
	s := &Session{handshake: r, lock: make(chan struct{}, 1), ended: make(chan struct{})}
	return s, context.WithValue(r.Context(), sessionKey{}, s)
}

// SessionOf returns the session that a request came by, nil for plain HTTP.
func SessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// WithClosing returns a context for [Serve]: once closing is closed, the connection ends after
// the reply under way.
func WithClosing(ctx context.Context, closing <-chan struct{}) context.Context {
	return context.WithValue(ctx, closingKey{}, closing)
}

func closingOf(ctx context.Context) <-chan struct{} {
	closing, _ := ctx.Value(closingKey{}).(<-chan struct{})
	return closing
}

// Refusal is a provider's reply to a handshake that it refused.
type Refusal struct {
	Status int
	Header http.Header
	Body   []byte
}

// Error says what the provider answered instead.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the provider refused the WebSocket: %d %s", r.Status, http.StatusText(r.Status))
}

// Response returns the refusal as the HTTP reply to request. It names its length, because
// WebSocket clients do not read chunks.
func (r *Refusal) Response(request *http.Request) *http.Response {
	header := r.Header.Clone()
	header.Set("Content-Length", strconv.Itoa(len(r.Body)))
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)),
		StatusCode: r.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(r.Body)),
		Body: io.NopCloser(bytes.NewReader(r.Body)), Request: request,
	}
}

// Connect connects the session to the provider by way of next. After the first connection or
// refusal, later calls return the same. The error is a *Refusal when the provider answered
// without switching protocols.
func (s *Session) Connect(ctx context.Context, next http.RoundTripper) (*Upstream, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	switch {
	case s.upstream != nil:
		return s.upstream, nil
	case s.refused != nil:
		return nil, s.refused
	}
	up, err := Dial(ctx, s.handshake, next, s.noteEnd)
	if err != nil {
		errors.As(err, &s.refused)
		return nil, err
	}
	s.upstream = up
	return up, nil
}

// acquire waits until nobody else connects, for as long as ctx lasts.
func (s *Session) acquire(ctx context.Context) error {
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) release() { <-s.lock }

// Send passes a message that asks for no reply on to the provider, when the connection that
// is being made, if any, is there. Without a connection it does nothing.
func (s *Session) Send(ctx context.Context, message []byte) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	up := s.upstream
	s.release()
	if up == nil {
		return nil
	}
	return up.conn.Write(ctx, coder.MessageText, message)
}

// noteEnd notes that the provider has closed its side.
func (s *Session) noteEnd(status coder.StatusCode, reason string) {
	s.once.Do(func() {
		s.status, s.reason = status, reason
		close(s.ended)
	})
}

func (s *Session) closeUpstream() {
	s.lock <- struct{}{}
	defer s.release()
	if s.upstream != nil {
		s.upstream.Close()
	}
}
