package record

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/route"
)

// exchange is an interaction under way. The handler owns it until it is handed
// to the keeper.
type exchange struct {
	in       cassette.Interaction // without its bodies
	provider string
	request  *spool
	response *spool // nil when nothing is kept
	clock    func() time.Time
	sent     time.Time // when the request was complete
	answered time.Time // when the reply's header was
	ended    time.Time
}

func (rec *Recorder) begin(r *http.Request, body *spool) *exchange {
	x := &exchange{
		in:       cassette.Interaction{Request: Incoming(r, nil)},
		provider: route.Provider(r.URL.Host, r.URL.Path),
		request:  body,
		clock:    rec.cfg.Clock,
		sent:     rec.cfg.Clock(),
	}
	if rec.keeps() {
		x.response = rec.spools.new()
	}
	return x
}

// fail answers a request that got no reply, unless nobody waits any more.
func (x *exchange) fail(w http.ResponseWriter, r *http.Request, err error) {
	x.ended = x.clock()
	x.in.End = ending(r, err)
	if x.in.End == cassette.EndClientAbort {
		panic(http.ErrAbortHandler)
	}
	contentType, body := route.ErrorBody(x.provider, http.StatusBadGateway, "the recorder got no reply from "+r.URL.Host+": "+err.Error())
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Recorder-Error", "no reply from upstream")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body) //nolint:gosec // JSON for an API client
}

// head passes the reply's header on. A reply of unknown length is a stream:
// its header does not wait for the first chunk.
func (x *exchange) head(w http.ResponseWriter, resp *http.Response) {
	x.answered = x.clock()
	x.in.Response = cassette.Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header}
	maps.Copy(w.Header(), resp.Header)
	for name := range resp.Trailer {
		w.Header().Add("Trailer", name)
		w.Header().Del("Content-Length") // HTTP/1.1 has trailers in chunked bodies only
	}
	w.WriteHeader(resp.StatusCode)
	if resp.ContentLength < 0 {
		_ = http.NewResponseController(w).Flush()
	}
}

// stream passes the body on, one Write for each Read, and says how it ended. A
// chunk that the client did not take was still sent by the server, so it is
// kept. A reply of known length is over with its last byte: a client that leaves
// then aborts nothing.
func (x *exchange) stream(w io.Writer, r *http.Request, resp *http.Response) cassette.End {
	buf := chunks.Get().(*[32 << 10]byte)
	defer chunks.Put(buf)
	for left := resp.ContentLength; ; {
		n, err := resp.Body.Read(buf[:])
		x.ended = x.clock()
		left -= int64(n)
		if n > 0 {
			_, werr := w.Write(buf[:n])
			x.keep(buf[:n])
			if werr != nil {
				return cassette.EndClientAbort
			}
		}
		switch {
		case err != nil && left == 0 && r.Context().Err() != nil:
			return cassette.EndEOF
		case err != nil:
			return ending(r, err)
		}
	}
}

func (x *exchange) keep(chunk []byte) {
	if x.response == nil {
		return
	}
	x.in.Timeline = append(x.in.Timeline, cassette.Chunk{At: x.ended.Sub(x.answered), Length: len(chunk)})
	_, _ = x.response.Write(chunk)
}

// trailer passes on what followed the body. Those not announced need a prefix
// that net/http takes off again.
func (x *exchange) trailer(w http.ResponseWriter, resp *http.Response) {
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

// ending names how a reply to r ended, by the error that ended it.
func ending(r *http.Request, err error) cassette.End {
	var stream http2.StreamError
	switch {
	case err == io.EOF: //nolint:errorlint // an EOF inside another error is no clean end
		return cassette.EndEOF
	case r.Context().Err() != nil:
		return cassette.EndClientAbort
	case errors.As(err, &stream):
		return cassette.End("h2:" + stream.Code.String())
	default:
		return cassette.EndReset
	}
}
