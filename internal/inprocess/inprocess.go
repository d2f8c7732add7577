// Package inprocess asks an http.Handler in this process as if it were a server:
//
//	client := http.Client{Transport: inprocess.Transport(handler)}
package inprocess

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Transport asks h in this process, without a socket: what h flushes arrives as
// one piece, on every machine and under any load, and h goes on when it has been
// read. What h leaves unflushed goes with its end; a panic breaks the reply off.
// Interim responses do not pass, except for 101: h may take over the connection, whose other
// end is then the body of the response. It is safe for concurrent use.
func Transport(h http.Handler) http.RoundTripper { return &transport{h} }

type transport struct{ h http.Handler }

// RoundTrip asks h. The context ends the reply as well.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, leave := context.WithCancel(r.Context())
	body, pipe := io.Pipe()
	w := &reply{header: http.Header{}, began: make(chan struct{}), pipe: pipe, left: ctx.Err}
	stop := context.AfterFunc(ctx, func() { _ = pipe.CloseWithError(ctx.Err()) })
	go func() {
		defer stop()
		if r.Body != nil {
			defer func() { _ = r.Body.Close() }()
		}
		w.finishReply(serveRecovered(t.h, w, serverRequest(ctx, r)))
	}()
	select {
	case <-w.began:
		if w.status == 0 {
			leave()
			return nil, w.failure
		}
		if w.taken != nil {
			return w.httpResponse(r, &takenConn{w.taken, leave}), nil
		}
		return w.httpResponse(r, &reading{body, leave}), nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// serverRequest is r as a server of HTTP/1.1 sees it.
func serverRequest(ctx context.Context, r *http.Request) *http.Request {
	in := r.Clone(ctx)
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// serveRecovered returns what broke the reply off.
func serveRecovered(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it like this
			err = io.ErrUnexpectedEOF
		} else if cause != nil {
			err = fmt.Errorf("the handler panicked: %v", cause)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// reply is a handler's way to its client. The handler owns it; the client reads
// status and sent when it has begun.
type reply struct {
	header  http.Header
	status  int         // 0 until there is one
	sent    http.Header // the header as it was then
	trailer http.Header // filled when the body has ended
	began   chan struct{}
	once    sync.Once
	waiting bytes.Buffer
	pipe    *io.PipeWriter
	taken   net.Conn     // the client's end of a connection that the handler took over
	failure error        // why there is no reply
	left    func() error // reports that the client stopped reading
}

// Header returns what WriteHeader will send.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader fixes the header; it leaves with the first piece.
func (w *reply) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status, w.sent, w.trailer = status, w.header.Clone(), http.Header{}
		for _, name := range w.sent["Trailer"] {
			w.trailer[http.CanonicalHeaderKey(name)] = nil
		}
		delete(w.sent, "Trailer")
	}
}

// sendTrailer fills the trailer as net/http does: with the announced fields, and
// with those under [http.TrailerPrefix].
func (w *reply) sendTrailer() {
	for name, values := range w.header {
		if bare, unannounced := strings.CutPrefix(name, http.TrailerPrefix); unannounced {
			w.trailer[bare] = values
		} else if _, announced := w.trailer[name]; announced {
			w.trailer[name] = values
		}
	}
}

// Write keeps p for the next piece.
func (w *reply) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.waiting.Write(p)
}

// FlushError sends one piece and returns when it has been read. The error
// reports that the client stopped reading.
func (w *reply) FlushError() error {
	w.WriteHeader(http.StatusOK)
	w.once.Do(func() { close(w.began) })
	if err := w.left(); err != nil || w.waiting.Len() == 0 {
		return err
	}
	_, err := w.pipe.Write(w.waiting.Bytes())
	w.waiting.Reset()
	return err
}

// Hijack lets the handler take over the connection, behind a status of 101.
func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.status != http.StatusSwitchingProtocols || w.taken != nil {
		return nil, nil, http.ErrNotSupported
	}
	client, server := net.Pipe()
	w.taken = client
	w.once.Do(func() { close(w.began) })
	return server, bufio.NewReadWriter(bufio.NewReader(server), bufio.NewWriter(server)), nil
}

// finishReply sends what is left, and how the reply ended.
func (w *reply) finishReply(broken error) {
	if broken == nil {
		_ = w.FlushError() // the client may be gone
		w.sendTrailer()
	}
	w.once.Do(func() {
		if w.failure = broken; w.status != 0 && broken != nil {
			w.status = 0 // its header never left
		}
		close(w.began)
	})
	_ = w.pipe.CloseWithError(broken)
}

// httpResponse is what the client gets.
func (w *reply) httpResponse(r *http.Request, body io.ReadCloser) *http.Response {
	resp := &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: maps.Clone(w.sent), Trailer: w.trailer, Body: body, ContentLength: -1, Request: r,
	}
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil {
		resp.ContentLength = n
	}
	return resp
}

// reading is a body whose reader may leave.
type reading struct {
	*io.PipeReader
	leave func()
}

// Close tells the handler that the client stopped reading.
func (b *reading) Close() error {
	b.leave()
	return b.PipeReader.Close()
}

// takenConn is the client's end of a connection that the handler took over.
type takenConn struct {
	net.Conn
	leave func()
}

// Close ends the connection, and with it the handler's request.
func (c *takenConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
