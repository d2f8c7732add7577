package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// exchange is an interaction in progress. The handler owns it until it is passed
// to the queue.
type exchange struct {
	in       cassette.Interaction // without its bodies
	provider string
	upload   *upload
	request  *spool // the upload's
	response *spool // nil when nothing is kept
	chunks   *spool // the times and lengths of the response's chunks, as uvarints
	limit    int64  // of what is kept of the response
	length   int64  // of the response, kept or not
	drain    int64  // how much may be read on after the client has left
	clock    func() time.Time
	sent     time.Time // when the request was complete
	answered time.Time // when the reply's header was
	ended    time.Time
	failure  error  // why there is no reply
	unsent   error  // why the request is not complete, though there is a reply
	final    []byte // the last bytes of a reply, which wait for saved
	isRead   bool   // the reply was read to its end, final included
	saved    chan struct{}
	isLive   bool        // as the head of the cassette says
	local    atomic.Bool // the reply came from this machine
}

// beginExchange returns when the request is complete, or after a moment.
func (rec *Recorder) beginExchange(r *http.Request) *exchange {
	clock := rec.exchangeClock()
	x := &exchange{
		in:       cassette.Interaction{Request: RequestOf(r, nil)},
		provider: llm.Provider(r.URL.Host, r.URL.Path),
		request:  rec.spools.newSpool(),
		clock:    clock,
		isLive:   rec.cfg.Provenance == cassette.ProvenanceLive,
		saved:    make(chan struct{}),
	}
	if rec.cfg.Note != nil {
		rec.cfg.Note(r, &x.in)
	}
	if rec.isKeeping() {
		x.response, x.chunks = rec.spools.newSpool(), rec.spools.newSpool()
		x.limit, x.drain = rec.cfg.MaxBody, rec.cfg.OnAbort.Bytes
	}
	if rec.cfg.Nominal != 0 {
		first := clock() // nominal times go by the steps, whenever the upload ends
		clock = func() time.Time { return first }
	}
	x.upload = startUpload(r, x.request, clock)
	return x
}

// endUpload waits for the rest of the request, which a reply may have preceded.
func (x *exchange) endUpload(w http.ResponseWriter) {
	x.unsent = x.upload.finish(w)
	if x.sent = x.upload.completed; !x.answered.IsZero() && x.sent.After(x.answered) {
		x.sent = x.answered
	}
}

// endConnection closes the connection of a client that did not send the rest of its
// request: what it still sends would be taken for its next request.
func (x *exchange) endConnection(w http.ResponseWriter, r *http.Request) {
	if x.unsent == nil || r.ProtoMajor != 1 {
		return
	}
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// isUploadBroken reports whether the client left before its request was complete.
func (x *exchange) isUploadBroken() bool {
	_, err := x.upload.state()
	return err != nil
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

// answerFailure answers a request that got no reply, unless the client has left.
func (x *exchange) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	x.ended = x.clock()
	x.in.End, x.failure = endOf(err, r.Context().Err() != nil), err
	if x.in.End == cassette.EndClientAbort {
		panic(http.ErrAbortHandler)
	}
	contentType, body := llm.ErrorBody(x.provider, http.StatusBadGateway, "the recorder got no reply from "+r.URL.Host+": "+err.Error())
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // WebSocket clients do not read chunks
	w.Header().Set("X-Recorder-Error", "no reply from upstream")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body) //nolint:gosec // JSON for an API client
}

// headerPatience is how long the header of a reply waits for the first bytes of its body,
// so that both leave with one write.
const headerPatience = 500 * time.Microsecond

// forwardHeader passes the reply's header on. Where the reply is a stream, of unknown
// length, the header does not wait for the first chunk for longer than headerPatience, and
// not at all where the reply is early: a client that still uploads stops when it sees that
// it is refused. Nothing else may use w until settle has returned, which sends a header
// that waits unless bytes follow it.
func (x *exchange) forwardHeader(w http.ResponseWriter, resp *http.Response) (settle func(isFollowed bool)) {
	x.answered = x.clock()
	x.in.Response = cassette.Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header}
	maps.Copy(w.Header(), resp.Header)
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

// forwardBody passes the body on, one Write for each Read, and returns how it
// ended. A chunk that the client did not take was still sent by the server, so
// it is kept; with a drain, so are the chunks after it. The last bytes wait in final where
// the server sent them with the end. ctx is the context of the request to the server;
// settle is what forwardHeader returned.
func (x *exchange) forwardBody(ctx context.Context, w io.Writer, r *http.Request, resp *http.Response, settle func(isFollowed bool)) cassette.End {
	buf := chunks.Get().(*[32 << 10]byte)
	defer chunks.Put(buf)
	left, given := false, int64(0)
	for {
		n, err := resp.Body.Read(buf[:])
		x.ended = x.clock()
		settle(n > 0)
		over := ctx.Err() != nil // a server whose client has left may end its reply cleanly
		if n > 0 {
			switch left = left || r.Context().Err() != nil; {
			case left:
				x.in.Drained += n
			case x.mayHoldEnd() && (err == io.EOF || given+int64(n) == resp.ContentLength && len(resp.Trailer) == 0):
				x.final, x.isRead = bytes.Clone(buf[:n]), err == io.EOF
			default:
				_, werr := w.Write(buf[:n])
				if left = werr != nil; !left {
					given += int64(n)
				}
			}
			x.keepChunk(buf[:n])
		}
		switch {
		case len(x.final) > 0:
			return cassette.EndEOF // HTTP/2 may say so later
		case err != nil && given == resp.ContentLength:
			return cassette.EndEOF // the client has everything announced: leaving now is not an abort
		case left && (err != nil || int64(x.in.Drained) >= x.drain):
			return cassette.EndClientAbort
		case err != nil:
			return endOf(err, over)
		}
	}
}

// mayHoldEnd reports whether the end of the reply can wait until the exchange is saved. An
// early one cannot: that needs the rest of the request, which a client may keep to itself
// until it has the reply.
func (x *exchange) mayHoldEnd() bool {
	isOver, _ := x.upload.state()
	return x.response != nil && isOver
}

// keepChunk stores a chunk. When the body becomes longer than what is kept, it
// frees the memory instead.
func (x *exchange) keepChunk(chunk []byte) {
	if x.response == nil {
		return
	}
	if x.length += int64(len(chunk)); x.length > x.limit {
		x.response.close()
		x.chunks.close()
		return
	}
	_, _ = x.response.Write(chunk)
	var pair [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(pair[:], uint64(max(x.ended.Sub(x.answered), 0)))
	n += binary.PutUvarint(pair[n:], uint64(len(chunk)))
	_, _ = x.chunks.Write(pair[:n])
}

// readTimeline returns the chunks that keepChunk has stored.
func (x *exchange) readTimeline() (out []cassette.Chunk, err error) {
	packed, err := x.chunks.readAll()
	if err != nil {
		return nil, err
	}
	for len(packed) > 0 {
		at, n := binary.Uvarint(packed)
		length, m := binary.Uvarint(packed[n:])
		out = append(out, cassette.Chunk{At: time.Duration(at), Length: int(length)}) //nolint:gosec // what keep wrote
		packed = packed[n+m:]
	}
	return out, nil
}

// bodySize returns the length of the bodies that will be saved, in bytes.
func (x *exchange) bodySize() int64 {
	n := x.request.size
	if x.response != nil {
		n += x.response.size
	}
	return n
}

// memoryHeld returns how many bytes of memory x needs until it is saved.
func (x *exchange) memoryHeld() int {
	n := 4096 + len(x.request.mem)
	if x.response != nil {
		n += len(x.response.mem) + len(x.chunks.mem)
	}
	return n
}

// buildInteraction returns the interaction with its bodies, decompressed. A body
// of more than most bytes is an error.
func (x *exchange) buildInteraction(most int64) (in cassette.Interaction, err error) {
	in = x.in
	if x.isLive && (x.local.Load() || x.in.Response.Status == 0) {
		in.Provenance = cassette.ProvenanceSynthetic // live is what the provider itself answered
	}
	in.Duration = max(x.ended.Sub(x.sent), 0)
	if x.unsent != nil {
		return in, fmt.Errorf("the reply came before the request was complete, and %w", errUnsent)
	}
	if longest := max(x.request.size, x.length); longest > most {
		return in, tooLong(longest, most)
	}
	if in.Request.Body, err = x.request.readAll(); err != nil {
		return in, err
	}
	if in.Response.Body, err = x.response.readAll(); err != nil {
		return in, err
	}
	if in.Timeline, err = x.readTimeline(); err != nil {
		return in, err
	}
	req, resp := &in.Request, &in.Response
	req.Header, resp.Header = cloneCoded(req.Header), cloneCoded(resp.Header) // in may be built again
	if req.Encoding, req.Body, err = decompressBody(req.Header, req.Body, most); err != nil {
		return in, fmt.Errorf("request: %w", err)
	}
	if resp.Encoding, resp.Body, err = decompressBody(resp.Header, resp.Body, most); err != nil {
		return in, err
	}
	if resp.Encoding != "" {
		in.Timeline, in.Drained = nil, 0 // they were those of other bytes
	}
	return in, nil
}

// withOwnBodies returns in with copies of the bodies that are in memory as they came: they
// are read once more when the interaction is built again, and a request may still be on its
// way to the provider.
func (x *exchange) withOwnBodies(in cassette.Interaction) cassette.Interaction {
	if x.request.stored == 0 && in.Request.Encoding == "" {
		in.Request.Body = bytes.Clone(in.Request.Body)
	}
	if x.response.stored == 0 && in.Response.Encoding == "" {
		in.Response.Body = bytes.Clone(in.Response.Body)
	}
	return in
}

func tooLong(size, most int64) error {
	return fmt.Errorf("a body of more than %d MiB, the most that is kept (%d MiB passed); --max-body keeps longer ones", most>>20, size>>20)
}

func (x *exchange) close() {
	if x.upload != nil {
		x.upload.release()
	}
	x.request.close()
	if x.response != nil {
		x.response.close()
		x.chunks.close()
	}
}

// forwardTrailer passes on the trailer. Fields that were not announced need a
// prefix that net/http removes again.
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
