package record

import (
	"errors"
	"net/http"

	"github.com/meerkat-go/conformance/internal/websocket"
)

// ServeWebSocket answers the handshake of a client as the provider answers it, and returns
// when the WebSocket has ended. A handshake that the provider refuses, or does not answer,
// is kept like any request. accepted is called when the provider has accepted it, and
// returns what answers the messages of the client, each a request: a Recorder, or a handler
// that passes them on to one. From then on this Recorder is not used, unless by that
// handler, and may be closed.
func (rec *Recorder) ServeWebSocket(w http.ResponseWriter, r *http.Request, accepted func() http.Handler) {
	session, ctx := websocket.WithSession(r)
	r = r.WithContext(ctx)
	up, err := session.Connect(ctx, rec.cfg.Transport)
	if err != nil {
		rec.forward(w, r, refused{err})
		return
	}
	websocket.Serve(w, r, websocket.Config{Turns: accepted(), Header: up.Header, Subprotocol: up.Subprotocol})
}

// overSession sends requests over the WebSocket that they came by, which it connects to
// the provider for the first of them unless that is done.
type overSession struct {
	session *websocket.Session
	next    http.RoundTripper
}

// RoundTrip sends one request.
func (o overSession) RoundTrip(r *http.Request) (*http.Response, error) {
	up, err := o.session.Connect(r.Context(), o.next)
	if err != nil {
		return refused{err}.RoundTrip(r)
	}
	return up.RoundTrip(r)
}

// refused answers with what the provider said instead of switching protocols.
type refused struct{ err error }

// RoundTrip returns the refusal, or the error where there was no answer at all.
func (f refused) RoundTrip(r *http.Request) (*http.Response, error) {
	var refusal *websocket.Refusal
	if !errors.As(f.err, &refusal) {
		return nil, f.err
	}
	return refusal.Response(r), nil
}
