package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// exchange is an interaction in progress. The handler owns it until it is passed
// to the saver.
type exchange struct {
	in       cassette.Interaction // without its bodies
	provider string
	upload   *upload
	request  *spool // the body of the request, which upload fills
	response *spool // nil when nothing is kept
	chunks   *spool // the times and lengths of the response's chunks, as uvarints

	limit  int64 // the longest body of a response that is kept, in bytes
	length int64 // of the response's body, kept or not
	drain  int64 // how many bytes may be read after the client has left

	clock    func() time.Time
	sent     time.Time // when the request was complete
	answered time.Time // when the header of the response came
	ended    time.Time // when the last bytes of the response came

	failure error // why there is no response
	unsent  error // why the request is not complete, although there is a response

	final  []byte        // the last bytes of the response, which the client gets after saved
	isRead bool          // the response was read to its end, final included
	saved  chan struct{} // closed when it is in the file, or cannot be

	out outcome // of saving

	isLive bool        // the head of the cassette says that the provider answers
	local  atomic.Bool // the response came from this machine
}

// beginExchange begins to read the request. It returns when the request is complete, or after
// uploadHead.
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
		first := clock() // nominal times count steps, and the request is the first, whenever it ends
		clock = func() time.Time { return first }
	}
	x.upload = startUpload(r, x.request, clock)
	return x
}

// endConnection closes the HTTP/1.1 connection of a client that did not send the rest of its
// request: what it still sends would be read as its next request.
func (x *exchange) endConnection(w http.ResponseWriter, r *http.Request) {
	if x.unsent == nil || r.ProtoMajor != 1 {
		return
	}
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// abortIfUploadBroken ends the handling of a request whose client left before it was complete.
func (x *exchange) abortIfUploadBroken() {
	if _, err := x.upload.state(); err != nil {
		x.close()
		panic(http.ErrAbortHandler)
	}
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
		out = append(out, cassette.Chunk{At: time.Duration(at),
			Length: int(length)}) //nolint:gosec // what keepChunk wrote
		packed = packed[n+m:]
	}
	return out, nil
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
		in.Timeline, in.Drained = nil, 0 // both are about the compressed bytes
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
	return fmt.Errorf("a body of more than %d MiB, the most that is kept (%d MiB passed); --max-body keeps longer ones",
		most>>20, size>>20)
}

// decompressBody undoes a body's compression and removes the headers that
// describe it, so that the body can be redacted, matched and judged (pitfall
// G12). It returns the codings it undid and a body of at most limit bytes. An
// unknown coding is an error, because such a body could hide a secret.
func decompressBody(h http.Header, body []byte, limit int64) (undone string, plain []byte, err error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
	if encoding == "" || encoding == "identity" || len(body) == 0 {
		return "", body, nil
	}
	codings := strings.Split(encoding, ",")
	slices.Reverse(codings) // the last was applied last
	plain = body
	for _, coding := range codings {
		if plain, err = decompressCoding(strings.TrimSpace(coding), plain, limit); err != nil {
			return "", body, err
		}
	}
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	return encoding, plain, nil
}

// cloneCoded returns h, or a copy where decompressBody would change h.
func cloneCoded(h http.Header) http.Header {
	if len(h["Content-Encoding"]) == 0 {
		return h
	}
	return h.Clone()
}

// decompressCoding undoes one coding of a body.
func decompressCoding(coding string, body []byte, limit int64) ([]byte, error) {
	plain, err := cassette.Decompress(coding, body, limit)
	switch {
	case errors.Is(err, cassette.ErrUnknownCoding):
		return nil, fmt.Errorf("content-encoding %s cannot be searched for secrets", coding)
	case errors.Is(err, cassette.ErrBodyTooLarge):
		return nil, fmt.Errorf("content-encoding %s: %w", coding, tooLong(limit+1, limit))
	case err != nil:
		return nil, fmt.Errorf("content-encoding %s: the body is damaged", coding)
	}
	return plain, nil
}

// DecompressRequest undoes the compression of a request body as the recorder
// does, so that a replayer can compare it, and removes the headers that describe it from h.
// A body that cannot be decompressed is returned as it is, and h stays.
func DecompressRequest(h http.Header, body []byte) []byte {
	_, plain, err := decompressBody(h, body, DefaultMaxBody)
	if err != nil {
		return body
	}
	return plain
}
