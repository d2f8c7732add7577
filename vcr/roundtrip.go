package vcr

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/internal/inprocess"
)

// exchange is in the context of one request. The recorder's transport, and RoundTrip, which
// waits for the reply, share it.
type exchange struct {
	failure error // why the service gave no reply
}

type exchangeKey struct{}

// askHandler answers req by h, in this process. A failure of the transport is the
// caller's error, as without a recorder.
func (r *Recorder) askHandler(h http.Handler, req *http.Request) (*http.Response, error) {
	x := &exchange{}
	asked := req.WithContext(context.WithValue(req.Context(), exchangeKey{}, x))
	resp, err := inprocess.Transport(flushEveryWrite(h)).RoundTrip(asked)
	if err != nil {
		return nil, err
	}
	if resp.Header.Get("X-Recorder-Error") != "" && x.failure != nil {
		_ = resp.Body.Close()
		return nil, x.failure
	}
	resp.Request = req
	resp.Body = r.recording.open.add(resp.Body)
	return resp, nil
}

// realTransport sends the requests of the recorder to the service. It notes failures, and lets
// net/http add its own User-Agent where the client set none.
type realTransport struct{ next func() http.RoundTripper }

// RoundTrip asks the service.
func (t realTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if values, ok := req.Header["User-Agent"]; ok && values == nil {
		delete(req.Header, "User-Agent") // the recorder's own copy
	}
	resp, err := t.next().RoundTrip(req)
	if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok && err != nil {
		x.failure = err
	}
	return resp, err
}

// flushEveryWrite returns h with each of its Writes flushed, so that the client gets it as one
// piece.
func flushEveryWrite(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { h.ServeHTTP(flushingWriter{w}, req) })
}

type flushingWriter struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (w flushingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write sends p. The error says that the client left.
func (w flushingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(w.ResponseWriter).Flush()
	}
	return n, err
}

// openBodies are the replies that clients may still be reading.
type openBodies struct {
	mu       sync.Mutex
	all      map[*openBody]bool
	isClosed bool
}

type openBody struct {
	io.ReadCloser
	from *openBodies
}

// add adds a reply. After closeAll it closes the reply at once.
func (o *openBodies) add(body io.ReadCloser) io.ReadCloser {
	b := &openBody{body, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isClosed {
		_ = body.Close()
		return b
	}
	if o.all == nil {
		o.all = map[*openBody]bool{}
	}
	o.all[b] = true
	return b
}

// Close ends the reading.
func (b *openBody) Close() error {
	b.from.mu.Lock()
	delete(b.from.all, b)
	b.from.mu.Unlock()
	return b.ReadCloser.Close()
}

// closeAll closes what the clients left open: their handlers wait until it is read.
func (o *openBodies) closeAll() {
	o.mu.Lock()
	left := o.all
	o.all, o.isClosed = nil, true
	o.mu.Unlock()
	for b := range left {
		_ = b.ReadCloser.Close()
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
