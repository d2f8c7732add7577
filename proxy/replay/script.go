package replay

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// scriptOf returns a reply as it was recorded: one write for each chunk, and a
// reply that was cut is cut again. An interim status (1xx) counts as no reply.
func scriptOf(in cassette.Interaction) fault.Script {
	s := fault.Script{Wait: untilHeader(in), End: fault.EOF}
	if in.End != cassette.EndEOF && in.End != "" {
		s.End = fault.Close
	}
	if in.Response.Status < 200 || in.Response.Status > 999 {
		s.End = fault.Close
		return s
	}
	s.Status, s.Header, s.Trailer = in.Response.Status, headerOf(in), in.Response.Trailer
	rest := in.Response.Body
	s.Steps = make([]fault.Step, 0, max(len(in.Timeline), 1))
	for _, chunk := range chunksOf(in) {
		s.Steps = append(s.Steps, fault.Step{At: chunk.At, Data: rest[:chunk.Length]})
		rest = rest[chunk.Length:]
	}
	return s
}

// chunksOf returns the reply's chunks, one when the source kept none.
func chunksOf(in cassette.Interaction) []cassette.Chunk {
	if len(in.Timeline) > 0 || len(in.Response.Body) == 0 {
		return in.Timeline
	}
	return []cassette.Chunk{{Length: len(in.Response.Body)}}
}

// untilHeader returns the time from the request to the reply's header. The
// cassette has the total duration and the chunk times counted from the header;
// what lies before the last chunk is the time to the header.
func untilHeader(in cassette.Interaction) time.Duration {
	header := in.Duration
	if n := len(in.Timeline); n > 0 {
		header -= in.Timeline[n-1].At
	}
	return max(header, 0)
}

// headerOf returns the recorded header without what is not true of the stored
// body: other recorders keep the encoding and length of compressed bodies that
// they stored decompressed. Compressed bytes are never UTF-8. A reply that has
// no body may still announce a length.
func headerOf(in cassette.Interaction) http.Header {
	h := in.Response.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if utf8.Valid(in.Response.Body) {
		h.Del("Content-Encoding")
	}
	whole := in.End == cassette.EndEOF || in.End == ""
	bodiless := in.Request.Method == http.MethodHead || in.Response.Status == http.StatusNotModified
	wrong := whole && h.Get("Content-Length") != strconv.Itoa(len(in.Response.Body)) && !bodiless
	if wrong || len(in.Response.Trailer) > 0 {
		h.Del("Content-Length")
	}
	return h
}

// applyFaults changes a script as Config.Faults and Config.Rechunk say, and reports whether the
// interaction is consumed: otherwise it answers a retry.
func (p *Replayer) applyFaults(s fault.Script, q *lookup, at int) (fault.Script, bool) {
	consumed := true
	if p.faults != nil {
		var out fault.Outcome
		s, out = p.faults.Apply(s, fault.Reply{Interaction: at, Provider: llm.Provider(q.r.URL.Host, q.r.URL.Path),
			Operation: llm.OperationOf(q.r.Method, q.r.URL, q.body)})
		consumed = out.Consumed
		p.recordFaults(out.Fired)
	}
	if p.cfg.Rechunk != "" {
		s = fault.Rechunk(s, p.cfg.Rechunk, fault.Dice(p.cfg.Seed, at))
	}
	return s, consumed
}

func (p *Replayer) recordFaults(fired []fault.Fired) {
	if len(fired) == 0 {
		return
	}
	p.mu.Lock()
	p.tally.faults = append(p.tally.faults, fired...)
	p.mu.Unlock()
	p.logMu.Lock()
	defer p.logMu.Unlock()
	for _, f := range fired {
		p.cfg.Log(p.cfg.Cassette.Name() + ": fault: " + f.String())
	}
}

// releaseFaulted releases an interaction whose answer a fault kept from its
// request.
func (p *Replayer) releaseFaulted(at int) {
	p.index.release(at)
	p.mu.Lock()
	p.tally.faulted++
	p.mu.Unlock()
}

// sentInteraction returns a recorded interaction with the reply that was sent in
// its place.
func sentInteraction(in cassette.Interaction, s fault.Script) cassette.Interaction {
	in.Response.Status, in.Response.Header, in.Response.Trailer = s.Status, s.Header, s.Trailer
	in.Response.Body, in.Timeline, in.End = s.Body(), nil, cassette.EndEOF
	if s.End != fault.EOF {
		in.End = cassette.EndReset
	}
	held := time.Duration(0)
	for _, step := range s.Steps {
		held += step.Hold
		if len(step.Data) > 0 {
			in.Timeline = append(in.Timeline, cassette.Chunk{At: step.At + held, Length: len(step.Data)})
		}
	}
	return in
}
