package record

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// forward forwards one request by way of next, and its reply to the client.
func (rec *Recorder) forward(w http.ResponseWriter, r *http.Request, next http.RoundTripper) {
	x := rec.beginExchange(r)
	x.abortIfUploadBroken()
	ctx, cancel := rec.upstreamContext(r.Context())
	defer cancel()
	resp, err := x.roundTrip(ctx, w, r, next)
	if err != nil {
		x.abortIfUploadBroken()
	}
	defer x.endConnection(w, r)
	save := sync.OnceFunc(func() { rec.save(x, w) })
	defer save()
	if isOver, _ := x.upload.state(); !isOver {
		_ = http.NewResponseController(w).EnableFullDuplex() // or HTTP/1.1 reads all of the request first
	}
	if err != nil {
		x.answerFailure(w, r, err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if x.response != nil {
		x.response.reserveMemory(resp.ContentLength)
	}
	settle := x.forwardHeader(w, resp)
	if x.in.End = x.forwardBody(ctx, w, r, resp, settle); x.in.End != cassette.EndEOF {
		panic(http.ErrAbortHandler) // so that the client sees a cut reply, too
	}
	x.forwardTrailer(w, resp)
	save()
	x.forwardFinal(w, resp)
}

// roundTrip sends the request, and passes interim responses on until the response comes.
func (x *exchange) roundTrip(ctx context.Context, w http.ResponseWriter, r *http.Request,
	next http.RoundTripper) (*http.Response, error) {
	traced, done := forwardInterim(ctx, w, r)
	defer done()
	return next.RoundTrip(x.outgoingRequest(x.watchConnection(traced), r))
}

// answerFailure answers a request that got no reply, unless the client has left.
func (x *exchange) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	x.ended = x.clock()
	x.in.End, x.failure = endOf(err, r.Context().Err() != nil), err
	if x.in.End == cassette.EndClientAbort {
		panic(http.ErrAbortHandler)
	}
	contentType, body := llm.ErrorBody(x.provider, http.StatusBadGateway,
		"the recorder got no reply from "+r.URL.Host+": "+err.Error())
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // WebSocket clients do not read chunks
	w.Header().Set("X-Recorder-Error", "no reply from upstream")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body) //nolint:gosec // JSON for an API client
}

// headerPatience is how long the header of a response waits for the first bytes of the body,
// so that both leave in one write.
const headerPatience = 500 * time.Microsecond

// forwardHeader passes the header of the response on. The header of a stream, whose length is
// unknown, waits up to headerPatience for the first chunk. When the client is still uploading,
// the header does not wait: a client that sees that it is refused stops. Until settle has
// returned nothing else may use w. settle sends a header that still waits, unless bytes follow
// it.
func (x *exchange) forwardHeader(w http.ResponseWriter, resp *http.Response) (settle func(isFollowed bool)) {
	x.answered = x.clock()
	x.in.Response = cassette.Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header}
	CopyHeader(w, resp.Header)
	for name := range resp.Trailer {
		w.Header().Add("Trailer", name)
		w.Header().Del("Content-Length") // HTTP/1.1 has trailers in chunked bodies only
	}
	w.WriteHeader(resp.StatusCode)
	switch isOver, _ := x.upload.state(); {
	case !isOver:
		_ = http.NewResponseController(w).Flush()
	case resp.ContentLength < 0:
		return flushSoon(w)
	}
	return func(bool) {}
}

// CopyHeader copies the header of a reply to w. A reply without a content type gets none; net/http would guess one.
func CopyHeader(w http.ResponseWriter, header http.Header) {
	h := w.Header()
	maps.Copy(h, header)
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil
	}
}

// flushSoon flushes w after headerPatience, or when settle is called without bytes that
// follow.
func flushSoon(w http.ResponseWriter) (settle func(isFollowed bool)) {
	flush := http.NewResponseController(w).Flush
	flushed, isSettled := make(chan struct{}), false
	timer := time.AfterFunc(headerPatience, func() {
		defer close(flushed)
		_ = flush()
	})
	return func(isFollowed bool) {
		switch {
		case isSettled:
		case !timer.Stop():
			<-flushed
		case !isFollowed:
			_ = flush()
		}
		isSettled = true
	}
}

// forwardBody passes the body on, one Write for each Read, and returns how it ended. ctx is
// the context of the request to the server; settle is what forwardHeader returned.
func (x *exchange) forwardBody(
	ctx context.Context, w io.Writer, r *http.Request, resp *http.Response, settle func(isFollowed bool),
) cassette.End {
	buf := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buf)
	d := delivery{x: x, w: w, client: r.Context(), resp: resp}
	for {
		n, err := resp.Body.Read(buf[:])
		x.ended = x.clock()
		settle(n > 0)
		isAbandoned := ctx.Err() != nil // a server whose client has left may end its reply cleanly
		if n > 0 {
			d.deliver(buf[:n], err)
			x.keepChunk(buf[:n])
			if len(x.final) > 0 {
				x.final = x.response.tail(buf[:n])
			}
		}
		if end := d.endAfter(err, isAbandoned); end != "" {
			return end
		}
	}
}

// delivery is the body of a response on its way to the client.
type delivery struct {
	x       *exchange
	w       io.Writer
	client  context.Context //nolint:containedctx // it is the request's, and lives as long
	resp    *http.Response
	hasLeft bool  // the client no longer reads
	given   int64 // bytes that the client got
}

// deliver passes a chunk on. The last one waits in final until the exchange is saved. readErr
// is the error that came with the chunk.
func (d *delivery) deliver(chunk []byte, readErr error) {
	x := d.x
	d.hasLeft = d.hasLeft || d.client.Err() != nil
	switch {
	case d.hasLeft:
		x.in.Drained += len(chunk)
	case d.isLast(chunk, readErr) && x.mayHoldEnd():
		x.final, x.isRead = chunk, readErr == io.EOF //nolint:errorlint // as in endOf
	default:
		if _, err := d.w.Write(chunk); err != nil {
			d.hasLeft = true // the server sent the chunk all the same, so it is kept
			return
		}
		d.given += int64(len(chunk))
	}
}

// isLast reports whether the body ends with this chunk.
func (d *delivery) isLast(chunk []byte, readErr error) bool {
	return readErr == io.EOF || //nolint:errorlint // as in endOf
		d.given+int64(len(chunk)) == d.resp.ContentLength && len(d.resp.Trailer) == 0
}

// endAfter returns how the body ended with the last Read, "" when more is to be read: the rest
// of the body, or as much of it as a drain allows once the client has left.
func (d *delivery) endAfter(readErr error, isAbandoned bool) cassette.End {
	switch {
	case len(d.x.final) > 0:
		return cassette.EndEOF // HTTP/2 may report the end later
	case readErr != nil && d.given == d.resp.ContentLength:
		return cassette.EndEOF // the client has everything announced: leaving now is not an abort
	case d.hasLeft && (readErr != nil || int64(d.x.in.Drained) >= d.x.drain):
		return cassette.EndClientAbort
	case readErr != nil:
		return endOf(readErr, isAbandoned)
	}
	return ""
}

// mayHoldEnd reports whether the end of the response can wait until the exchange is saved. It
// cannot while the client is still uploading: saving needs the whole request, and the client
// may not send the rest before it has the response.
func (x *exchange) mayHoldEnd() bool {
	isOver, _ := x.upload.state()
	return x.response != nil && isOver
}

// forwardTrailer passes the trailer on. Fields that were not announced need
// http.TrailerPrefix, which net/http removes again.
func (x *exchange) forwardTrailer(w http.ResponseWriter, resp *http.Response) {
	x.in.Response.Trailer = resp.Trailer.Clone()
	announced := map[string]bool{}
	for _, name := range w.Header()["Trailer"] {
		announced[name] = true
	}
	for name, values := range resp.Trailer {
		if !announced[name] {
			name = http.TrailerPrefix + name
		}
		w.Header()[name] = values
	}
}

// forwardFinal sends the bytes that waited until the exchange was saved.
func (x *exchange) forwardFinal(w http.ResponseWriter, resp *http.Response) {
	switch {
	case x.isRead:
		_ = WriteEnd(w, x.final)
	case len(x.final) > 0:
		_, _ = w.Write(x.final)               //nolint:gosec // what the provider sent, as it sent it
		_, _ = io.Copy(io.Discard, resp.Body) // to its end, so that the connection is used again
	}
}

// WriteEnd writes the last bytes of a reply that has ended. If w belongs to a proxy of package
// proxy, these bytes and the end of the reply leave in one write. The error comes from w.
func WriteEnd(w http.ResponseWriter, last []byte) error {
	write := w.Write
	if e, ok := w.(interface {
		WriteEnd(last []byte) (int, error)
	}); ok {
		write = e.WriteEnd
	}
	_, err := write(last)
	return err
}

// endOf returns how a reply ended, given the error that ended it and whether the
// client had left before.
func endOf(err error, abandoned bool) cassette.End {
	var stream http2.StreamError
	switch {
	case abandoned:
		return cassette.EndClientAbort
	case err == io.EOF: //nolint:errorlint // an EOF inside another error is not a clean end
		return cassette.EndEOF
	case errors.As(err, &stream):
		return cassette.End("h2:" + stream.Code.String())
	default:
		return cassette.EndReset
	}
}

// forwardInterim returns a context with which interim responses (RFC 9110 §15.2), such as 103
// Early Hints, are passed on until done is called. A 100 is not: it concerns the request body,
// which the client sends already. HTTP/1.0 has no interim responses. They are not kept, because
// they do not change the reply that follows.
func forwardInterim(ctx context.Context, w http.ResponseWriter, r *http.Request) (traced context.Context, done func()) {
	if !r.ProtoAtLeast(1, 1) {
		return ctx, func() {}
	}
	var mu sync.Mutex // a transport may receive one after RoundTrip has returned
	over := false
	pass := func(status int, header textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		if over || status == http.StatusContinue {
			return nil
		}
		h := w.Header()
		before := h.Clone()
		maps.Copy(h, http.Header(header))
		w.WriteHeader(status)
		clear(h)
		maps.Copy(h, before)
		return nil
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: pass}), func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// hopByHop are the request headers meant for the proxy and not for the provider
// (pitfall G19). Expect is one of them: the recorder reads the body at once.
var hopByHop = []string{
	"Connection", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
}

// RequestOf returns r as a cassette keeps it, before redaction. A replayer uses
// it to see a request exactly as the recorder would.
func RequestOf(r *http.Request, body []byte) cassette.Request {
	return cassette.Request{Method: r.Method, URL: r.URL.String(), Proto: r.Proto, Header: endToEnd(r.Header),
		Body: body}
}

// endToEnd returns a copy of h without the headers of the connection.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		out.Del(name)
	}
	return out
}

// outgoingRequest returns r as it is sent on. It declines compression, because a
// body that cannot be read cannot be redacted (pitfall G12). The recording keeps
// the client's Accept-Encoding.
func (x *exchange) outgoingRequest(ctx context.Context, r *http.Request) *http.Request {
	out := r.WithContext(ctx)
	out.RequestURI = ""
	out.Header = endToEnd(r.Header)
	if out.Header.Get("Accept-Encoding") != "" {
		out.Header.Set("Accept-Encoding", "identity")
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // net/http would add its own
	}
	out.TransferEncoding = nil
	x.upload.attachTo(out)
	return out
}

// watchConnection returns a context that notes whether the connection to the
// provider leads to this machine.
func (x *exchange) watchConnection(ctx context.Context) context.Context {
	if !x.isLive {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		to, ok := got.Conn.RemoteAddr().(*net.TCPAddr)
		x.local.Store(ok && (to.IP.IsLoopback() || to.IP.Equal(localIP(got.Conn))))
	}})
}

// localIP returns the address of this machine's end of a connection, nil for none.
func localIP(conn net.Conn) net.IP {
	if from, ok := conn.LocalAddr().(*net.TCPAddr); ok {
		return from.IP
	}
	return nil
}
