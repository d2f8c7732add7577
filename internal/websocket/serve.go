package websocket

import (
	"bytes"
	"context"
	"io"
	"net/http"

	coder "github.com/coder/websocket"
)

// Config says how [Serve] answers a client.
type Config struct {
	// Turns answers each response.create: a POST request to the URL of the handshake, with
	// its headers and the message as body. Messages that are not JSON come here, too.
	// A reply of text/event-stream is sent event by event; any other becomes one message,
	// an error message when its status says so. A panic, and a stream without its terminal
	// event, end the connection.
	Turns http.Handler
	// Header is added to the reply to the handshake.
	Header http.Header
	// Subprotocol is what the provider chose, "" for none.
	Subprotocol string
}

// Serve accepts a handshake and answers the client's messages, one after the other, until
// either side ends the connection. It uses the Session in the context of r, or makes one.
// Messages of the client that are not response.create are passed on to the provider, if the
// session is connected to one.
func Serve(w http.ResponseWriter, r *http.Request, cfg Config) {
	session := SessionOf(r.Context())
	if session == nil {
		var ctx context.Context
		session, ctx = WithSession(r)
		r = r.WithContext(ctx) //nolint:contextcheck // made from that of r
	}
	defer session.closeUpstream()
	for name, values := range dropHandshake(cfg.Header) {
		w.Header()[name] = values
	}
	conn, err := coder.Accept(w, r, &coder.AcceptOptions{Subprotocols: []string{cfg.Subprotocol}})
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(MaxMessage)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &server{cfg: cfg, conn: conn, session: session, handshake: r, messages: make(chan []byte, 1)}
	go func() {
		defer cancel() // ends the reply that is under way
		s.readMessages(ctx)
	}()
	s.answerMessages(ctx, closingOf(r.Context()))
}

type server struct {
	cfg       Config
	conn      *coder.Conn
	session   *Session
	handshake *http.Request
	messages  chan []byte // those that ask for a reply
}

// readMessages reads what the client sends, until it stops.
func (s *server) readMessages(ctx context.Context) {
	defer close(s.messages)
	for {
		kind, message, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != coder.MessageText {
			_ = s.conn.Close(coder.StatusUnsupportedData, "messages are JSON text")
			return
		}
		if e := envelopeOf(message); e.Type != "" && e.Type != createType {
			if s.session.Send(ctx, message) != nil {
				return
			}
			continue
		}
		select {
		case s.messages <- message:
		case <-ctx.Done():
			return
		}
	}
}

// answerMessages answers until the client, the provider or the program ends the
// connection.
func (s *server) answerMessages(ctx context.Context, closing <-chan struct{}) {
	for {
		select {
		case message, ok := <-s.messages:
			if !ok || !s.answerMessage(ctx, message) {
				return
			}
		case <-s.session.ended:
			s.closeAsProvider()
			return
		case <-closing:
			_ = s.conn.Close(coder.StatusGoingAway, "the proxy is closing")
			return
		}
	}
}

// closeAsProvider ends the connection as the provider ended its own.
func (s *server) closeAsProvider() {
	switch status := s.session.status; status {
	case -1, coder.StatusNoStatusRcvd, coder.StatusAbnormalClosure, coder.StatusTLSHandshake:
		_ = s.conn.CloseNow() // there was no status either
	default:
		_ = s.conn.Close(status, s.session.reason)
	}
}

// answerMessage answers one message and reports whether the connection can go on.
func (s *server) answerMessage(ctx context.Context, message []byte) bool {
	out := &replyWriter{ctx: ctx, conn: s.conn, header: http.Header{}}
	if !serveRecovered(s.cfg.Turns, out, s.requestOf(ctx, message)) {
		_ = out.sendTerminal() // the reply was cut after it
		return false
	}
	if out.finishReply() {
		return true
	}
	select {
	case <-s.session.ended:
		s.closeAsProvider()
	default:
		_ = s.conn.Close(coder.StatusInternalError, "the reply ended without its terminal event")
	}
	return false
}

// requestOf returns a message as an HTTP request.
func (s *server) requestOf(ctx context.Context, message []byte) *http.Request {
	r := s.handshake.Clone(ctx)
	r.Method, r.Header = http.MethodPost, dropHandshake(r.Header)
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	return r
}

// serveRecovered reports whether h answered r without a panic. Handlers cut a reply by one.
func serveRecovered(h http.Handler, w http.ResponseWriter, r *http.Request) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
		}
	}()
	h.ServeHTTP(w, r)
	return true
}
