package replay

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// play sends a recorded reply: what the recorder kept, as it kept it. Each
// chunk is one Write, and a reply that was cut is cut again.
func (p *Player) play(w http.ResponseWriter, r *http.Request, in cassette.Interaction) {
	wait := p.pace(r.Context(), in)
	if in.Response.Status == 0 {
		panic(http.ErrAbortHandler) // nothing ever came
	}
	maps.Copy(w.Header(), headerOf(in))
	for name := range in.Response.Trailer {
		w.Header().Add("Trailer", name)
	}
	w.WriteHeader(in.Response.Status)
	if len(in.Timeline) > 0 && in.Response.Header.Get("Content-Length") == "" {
		_ = http.NewResponseController(w).Flush()
	}
	rest := in.Response.Body
	for _, chunk := range timeline(in) {
		if !wait(chunk.At) {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(rest[:chunk.Length]); err != nil {
			return
		}
		rest = rest[chunk.Length:]
	}
	if in.End != cassette.EndEOF && in.End != "" {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), in.Response.Trailer)
}

// timeline returns the reply's chunks, one where the source kept none.
func timeline(in cassette.Interaction) []cassette.Chunk {
	if len(in.Timeline) > 0 || len(in.Response.Body) == 0 {
		return in.Timeline
	}
	return []cassette.Chunk{{Length: len(in.Response.Body)}}
}

// headerOf returns the recorded header without what is not true of the stored
// body: other recorders keep the encoding and length of compressed bodies that
// they stored decompressed. Compressed bytes are never UTF-8.
func headerOf(in cassette.Interaction) http.Header {
	h := in.Response.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if utf8.Valid(in.Response.Body) {
		h.Del("Content-Encoding")
	}
	whole := in.End == cassette.EndEOF || in.End == ""
	wrong := whole && h.Get("Content-Length") != strconv.Itoa(len(in.Response.Body)) && in.Request.Method != http.MethodHead
	if wrong || len(in.Response.Trailer) > 0 {
		h.Del("Content-Length")
	}
	return h
}

// pace waits for the reply's header to be due and returns a function that
// waits for a time after that; it is false when the client has left. The
// cassette says when a reply had ended and when its chunks came, counted from
// the header; what lies before the last chunk is the time to the header.
func (p *Player) pace(ctx context.Context, in cassette.Interaction) func(time.Duration) bool {
	if p.cfg.Timing == None {
		return func(time.Duration) bool { return true }
	}
	begin := time.Now()
	until := func(at time.Duration) bool {
		select {
		case <-time.After(time.Until(begin.Add(time.Duration(float64(at) / float64(p.cfg.Timing))))):
			return true
		case <-ctx.Done():
			return false
		}
	}
	header := in.Duration
	if n := len(in.Timeline); n > 0 {
		header -= in.Timeline[n-1].At
	}
	header = max(header, 0)
	until(header)
	return func(at time.Duration) bool { return until(header + at) }
}
