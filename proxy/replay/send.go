package replay

import (
	"context"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
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

// sendHeader sends the header. A recorded reply without a content type gets
// none; net/http would guess one.
func sendHeader(w http.ResponseWriter, s fault.Script) {
	h := w.Header()
	maps.Copy(h, s.Header)
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil
	}
	for name := range s.Trailer {
		h.Add("Trailer", name)
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
