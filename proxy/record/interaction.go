package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

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
		out = append(out, cassette.Chunk{At: time.Duration(at), Length: int(length)}) //nolint:gosec // what keepChunk wrote
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
