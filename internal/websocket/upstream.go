package websocket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	coder "github.com/coder/websocket"
)

// Upstream is a WebSocket to a provider. Its RoundTrip sends the body of a request as a
// message and returns the messages up to the terminal event as a stream of server-sent
// events. An error message that comes first is the reply, with the status that it names.
type Upstream struct {
	// Header is the header of the provider's reply to the handshake.
	Header http.Header
	// Subprotocol is what the provider chose, "" for none.
	Subprotocol string

	conn     *coder.Conn
	trace    httptrace.GotConnInfo
	messages chan []byte
	done     chan struct{} // closed when no further message comes
	err      error         // why; set before done is closed
	stop     context.CancelFunc
}

// handshakeTimeout bounds how long the provider may take to answer a handshake. A client that
// leaves meanwhile is not noticed, because its further messages wait.
const handshakeTimeout = 30 * time.Second

// maxRefusal is the length of the longest body of a refusal, in bytes.
const maxRefusal = 1 << 20

// Dial does a handshake with the provider, with the URL, Host and Header of handshake. onEnd,
// which may be nil, is called at most once, from another goroutine, when the connection ends.
// The error is a *Refusal when the provider answered without switching protocols. The Upstream
// does not end with ctx: the caller closes it.
func Dial(ctx context.Context, handshake *http.Request, next http.RoundTripper,
	onEnd func(coder.StatusCode, string)) (*Upstream, error) {
	u := &Upstream{messages: make(chan []byte), done: make(chan struct{})}
	limited, giveUp := context.WithCancelCause(ctx) // stays: a transport may end the connection with its request
	timer := time.AfterFunc(handshakeTimeout, func() { giveUp(context.DeadlineExceeded) })
	defer timer.Stop()
	traced := httptrace.WithClientTrace(limited,
		&httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { u.trace = got }})
	catch := &refusalCatcher{next: next}
	conn, resp, err := coder.Dial(traced, handshake.URL.String(),
		&coder.DialOptions{ //nolint:bodyclose // it is the connection
			HTTPClient: &http.Client{Transport: catch,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
			HTTPHeader: handshakeHeader(handshake), Host: handshake.Host, Subprotocols: subprotocols(handshake),
		})
	switch {
	case catch.refusal != nil:
		return nil, catch.refusal
	case err != nil:
		return nil, fmt.Errorf("no WebSocket to %s: %w", handshake.URL.Host,
			cmp.Or(context.Cause(limited), innermost(err)))
	}
	conn.SetReadLimit(MaxMessage)
	u.conn, u.Header, u.Subprotocol = conn, dropHandshake(resp.Header), conn.Subprotocol()
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	u.stop = stop
	go u.readMessages(reading, onEnd)
	return u, nil
}

// innermost returns the cause of an error of the library, whose own text describes its calls.
func innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// handshakeHeader returns the header of the handshake with the provider. The library adds
// what the handshake itself needs.
func handshakeHeader(r *http.Request) http.Header {
	h := dropHandshake(r.Header)
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = nil // net/http would add its own
	}
	return h
}

func subprotocols(r *http.Request) (out []string) {
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(line, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}

// refusalCatcher keeps a reply that does not switch protocols. The library keeps the first
// kilobyte only.
type refusalCatcher struct {
	next    http.RoundTripper
	refusal *Refusal
}

// RoundTrip sends the handshake.
func (c *refusalCatcher) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal+1))
	if err == nil && len(body) > maxRefusal {
		err = fmt.Errorf("the refusal, status %d, is longer than %d MiB", resp.StatusCode, maxRefusal>>20)
	}
	if err != nil {
		return nil, err
	}
	c.refusal = &Refusal{Status: resp.StatusCode, Header: dropHandshake(resp.Header), Body: body}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// readMessages reads what the provider sends, as fast as it is taken.
func (u *Upstream) readMessages(ctx context.Context, onEnd func(coder.StatusCode, string)) {
	isText := true
	defer func() {
		close(u.done)
		if !isText { // after done is closed: Close waits for the provider's answer
			_ = u.conn.Close(coder.StatusUnsupportedData, "messages are JSON text")
		}
	}()
	for {
		kind, message, err := u.conn.Read(ctx)
		if isText = err != nil || kind == coder.MessageText; !isText {
			err = errors.New("the provider sent a message that is not text")
		}
		if err != nil {
			u.err = err
			var closed coder.CloseError
			_ = errors.As(err, &closed)
			if onEnd != nil {
				onEnd(coder.CloseStatus(err), closed.Reason)
			}
			return
		}
		select {
		case u.messages <- message:
		case <-ctx.Done():
			u.err = ctx.Err()
			return
		}
	}
}

// IsIdle reports whether the connection can take a request: the provider has neither ended it
// nor sent anything since the end of the last reply. A message that it did send is dropped.
func (u *Upstream) IsIdle() bool {
	select {
	case <-u.done:
		return false
	case <-u.messages:
		return false
	default:
		return true
	}
}

// Close ends the connection, without the closing handshake.
func (u *Upstream) Close() {
	u.stop()
	_ = u.conn.CloseNow()
}

// nextMessage returns the provider's next message.
func (u *Upstream) nextMessage(ctx context.Context) ([]byte, error) {
	select {
	case message := <-u.messages:
		return message, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-u.done:
		return nil, u.endError()
	}
}

// endError returns how the connection ended: io.EOF when the provider closed it with a status.
func (u *Upstream) endError() error {
	if coder.CloseStatus(u.err) >= 0 {
		return io.EOF
	}
	return fmt.Errorf("the WebSocket broke off: %w", innermost(u.err))
}

// RoundTrip sends a request's body as a message and returns the reply.
func (u *Upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	message, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil && u.trace.Conn != nil {
		trace.GotConn(u.trace)
	}
	if err := u.conn.Write(r.Context(), coder.MessageText, message); err != nil {
		return nil, fmt.Errorf("the message could not be sent: %w", innermost(err))
	}
	first, err := u.nextMessage(r.Context())
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the provider closed the WebSocket without an answer")
	}
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: u.Header.Clone(), ContentLength: -1, Request: r,
		Body: &eventBody{upstream: u, ctx: r.Context(), rest: eventOf(first), isOver: isTerminal(first)},
	}
	resp.Header.Set("Content-Type", "text/event-stream")
	if e := envelopeOf(first); e.errorStatus() != 0 {
		status := e.errorStatus()
		maps.Copy(resp.Header, e.namedHeader())
		resp.StatusCode, resp.ContentLength = status, int64(len(first))
		resp.Header.Set("Content-Type", "application/json")
		resp.Body = io.NopCloser(bytes.NewReader(first))
	}
	resp.Status = fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	return resp, nil
}

func readMessage(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, errors.New("a WebSocket message needs a body")
	}
	defer func() { _ = r.Body.Close() }()
	message, err := io.ReadAll(io.LimitReader(r.Body, MaxMessage+1))
	if err == nil && len(message) > MaxMessage {
		err = errTooLong
	}
	return message, err
}

func isTerminal(message []byte) bool { return terminalTypes[envelopeOf(message).Type] }

// eventOf returns a message as a server-sent event. Each line of the message is a data line,
// so that reading the event gives the message. A CR becomes an LF: JSON has either only
// between its tokens.
func eventOf(message []byte) []byte {
	out := make([]byte, 0, len(message)+8)
	out = append(out, "data: "...)
	for i, b := range message {
		switch {
		case b == '\r' && i+1 < len(message) && message[i+1] == '\n':
		case b == '\n', b == '\r':
			out = append(out, "\ndata: "...)
		default:
			out = append(out, b)
		}
	}
	return append(out, "\n\n"...)
}

// eventBody is the rest of a reply.
type eventBody struct {
	upstream *Upstream
	ctx      context.Context //nolint:containedctx // it is the request's, and lives as long
	rest     []byte
	isOver   bool // rest is the last event
	// mayFail says that rest is an error within the stream, which response.failed may follow.
	mayFail bool
}

// failureGrace is how long response.failed may come after an error within a stream. Without
// it the error is the end.
const failureGrace = 500 * time.Millisecond

// Read returns one event, or a part of it.
func (b *eventBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.isOver && !b.mayFail {
			return 0, io.EOF
		}
		message, err := b.nextEvent()
		if err != nil {
			return 0, err
		}
		e := envelopeOf(message)
		b.rest, b.isOver, b.mayFail = eventOf(message), terminalTypes[e.Type], e.Type == "error" && e.errorStatus() == 0
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// nextEvent returns the next message of the reply, io.EOF when an error was its end.
func (b *eventBody) nextEvent() ([]byte, error) {
	if !b.mayFail {
		return b.upstream.nextMessage(b.ctx)
	}
	ctx, cancel := context.WithTimeout(b.ctx, failureGrace)
	defer cancel()
	message, err := b.upstream.nextMessage(ctx)
	if err != nil && b.ctx.Err() == nil {
		return nil, io.EOF
	}
	return message, err
}

// Close leaves the connection as it is: it belongs to the session.
func (b *eventBody) Close() error { return nil }
