package check

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// framingRules judge how a stream is sent, whatever it says (reference §1.4).
var framingRules = map[string]rule{
	"STR-001/content-type": contentType,
	"STR-001/framing":      framedAsStream,
	"STR-002/terminal":     endsWithTerminal,
}

// eachStream calls f for every reply that came as a stream with status 200.
func (s *Trace) eachStream(f func(x *exchange)) {
	for _, x := range s.x {
		if x.Missed || x.Response.Status != 200 {
			continue
		}
		if x.reply.Form == wire.SSE || x.reply.Form == wire.Array && x.wire.Ending.IsWholeArray != nil {
			f(x)
		}
	}
}

// contentType: a client chooses its reader by it.
func contentType(s *Trace, r *report) {
	s.eachStream(func(x *exchange) {
		got := x.Response.Header.Get("Content-Type")
		if got == "" {
			return
		}
		want := "text/event-stream"
		if x.reply.Form == wire.Array {
			want = "application/json"
		}
		r.addObserved(1)
		if !strings.HasPrefix(strings.ToLower(got), want) {
			r.addFinding(x, wire.Place{Event: -1, Off: -1, Path: "content-type"}, "§1.4", "stream is sent as %q, not as %s", got, want)
		}
	})
}

// framedAsStream: every line is one of SSE's, every event ends and holds JSON. Two
// gateways add [DONE], which clients tolerate.
func framedAsStream(s *Trace, r *report) {
	s.eachStream(func(x *exchange) {
		for _, off := range x.reply.BadLines {
			if (markedCut(x) || s.wasInterrupted(x)) && !bytes.ContainsAny(x.Response.Body[off:], "\r\n") {
				continue // the cut went through a field name
			}
			r.addFinding(x, wire.Place{Event: -1, Off: off}, "§1.4", "line is not a field, comment or blank line of an event stream")
		}
		for i, e := range x.reply.Events {
			r.addObserved(1)
			at := wire.Place{Event: i, Off: e.DataOff}
			switch {
			case e.Unterminated && (markedCut(x) || s.wasInterrupted(x)):
			case e.Unterminated:
				r.addFinding(x, at, "§1.4", "the last event is not ended by a blank line, so a client drops it")
			case e.JSON == nil && e.Data != "[DONE]":
				r.addFinding(x, at, "§1.4", "data of the event is not JSON")
			}
		}
	})
}

// markedCut reports whether the recording says that the stream was cut.
func markedCut(x *exchange) bool { return x.Response.End != "" && x.Response.End != "eof" }

// endsWithTerminal: a stream says that it is over, or the recording says that it was
// cut. Nothing else tells a client that it has the whole reply.
func endsWithTerminal(s *Trace, r *report) {
	s.eachStream(func(x *exchange) {
		r.addObserved(1)
		if x.reply.End == wire.Cut && !markedCut(x) && !s.wasInterrupted(x) {
			r.addFinding(x, wire.Place{Event: len(x.reply.Events) - 1, Off: len(x.Response.Body)}, "§1.4",
				"the stream ends after %d events without %s and is not marked as cut", len(x.reply.Events), x.wire.Ending.Words)
		}
	})
}
