package replay

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/record"
)

// Send sends the reply of one interaction as it was recorded, for a caller that chose the
// interaction itself.
func Send(w http.ResponseWriter, r *http.Request, in cassette.Interaction, timing Timing) {
	sendScript(w, r, scriptOf(in), timing)
}

// sendScript sends a script. Each step is one Write, which the proxy sends at once, so that in
// HTTP/1.1 it is one chunk (pitfall V7). The end leaves with the last step, which saves a
// packet.
func sendScript(w http.ResponseWriter, r *http.Request, s fault.Script, timing Timing) {
	pace := pace{ctx: r.Context(), begin: time.Now(), speed: timing}
	defer pace.close()
	pace.waitUntil(s.Wait, s.Hold)
	if s.Status == 0 {
		abortReply(w, s.End) // nothing ever came
	}
	pace.header = s.Wait
	sendHeader(w, s)
	if sendsHeaderFirst(s, timing) {
		_ = http.NewResponseController(w).Flush()
	}
	for i, step := range s.Steps {
		pace.waitUntil(step.At, step.Hold)
		if len(step.Data) == 0 {
			continue
		}
		isLast := i == len(s.Steps)-1 && s.End == fault.EOF
		if err := writeStep(w, step.Data, isLast); err != nil {
			return
		}
	}
	if s.End != fault.EOF {
		abortReply(w, s.End)
	}
	maps.Copy(w.Header(), s.Trailer)
}

func writeStep(w http.ResponseWriter, data []byte, isLast bool) error {
	if isLast {
		return record.WriteEnd(w, data)
	}
	_, err := w.Write(data)
	return err
}

// sendHeader sends the header.
func sendHeader(w http.ResponseWriter, s fault.Script) {
	record.CopyHeader(w, s.Header)
	for name := range s.Trailer {
		w.Header().Add("Trailer", name)
	}
	w.WriteHeader(s.Status)
}

// sendsHeaderFirst reports whether the header is sent before the first step: when there is time
// between them, and for an empty stream. Otherwise both leave together, as from a server that
// has both.
func sendsHeaderFirst(s fault.Script, timing Timing) bool {
	if len(s.Steps) == 0 {
		return s.Header.Get("Content-Length") == "" || s.End != fault.EOF
	}
	first := s.Steps[0]
	return first.Hold > 0 || len(first.Data) == 0 || timing != None && first.At > 0
}

// pace waits until the next step of a reply is due.
type pace struct {
	ctx    context.Context //nolint:containedctx // it is the request's, and lives as long
	begin  time.Time
	speed  Timing
	header time.Duration // recorded time to the header
	alarm  *alarm
}

// waitUntil returns when a recorded time has come and, whatever the speed, hold
// has passed in addition. When the client leaves, the reply ends (pitfall V11).
func (p *pace) waitUntil(recorded, hold time.Duration) {
	if hold > 0 {
		p.sleepFor(hold)
		p.begin = p.begin.Add(hold)
	}
	if p.speed != None {
		due := time.Duration(float64(p.header+recorded) / float64(p.speed))
		p.sleepFor(time.Until(p.begin.Add(due)))
	}
}

func (p *pace) sleepFor(d time.Duration) {
	if d <= 0 {
		return
	}
	if p.alarm == nil {
		p.alarm = startAlarm(p.ctx)
	}
	if p.alarm != nil {
		p.alarm.sleep(d)
	} else {
		select {
		case <-time.After(d):
		case <-p.ctx.Done():
		}
	}
	if p.ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// startAlarm makes alarms; tests with a clock of their own replace it.
var startAlarm = newAlarm

func (p *pace) close() {
	if p.alarm != nil {
		p.alarm.close()
	}
}

// abortReply ends a reply before it is complete. HTTP/2 has one way to do so,
// RST_STREAM; in HTTP/1 the connection is closed, on Reset with TCP RST.
func abortReply(w http.ResponseWriter, end fault.End) {
	if end == fault.Reset {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			resetConnection(conn)
		}
	}
	panic(http.ErrAbortHandler)
}

// resetConnection closes a connection with TCP RST: the other side's reads fail
// with ECONNRESET instead of an end of file. It bypasses TLS, whose closing
// alert would be data.
func resetConnection(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		switch c := conn.(type) {
		case interface{ SetLinger(sec int) error }:
			_ = c.SetLinger(0)
			return
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return
		}
	}
}

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
