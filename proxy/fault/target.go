package fault

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// target is a recorded reply, split so that places can be found in it.
type target struct {
	script   Script
	provider string
	body     []byte
	events   []llm.Frame
	terminal int // index of the event that says the reply is whole, or -1
	framing  llm.Framing
	newline  string
}

func newTarget(s Script, provider string) target {
	t := target{script: s, provider: provider, body: s.Body(), terminal: -1, newline: "\n"}
	kind := s.Header.Get("Content-Type")
	t.framing = llm.FramingOf(kind, t.body)
	if t.framing == llm.Document {
		return t
	}
	for f := range llm.Frames(kind, t.body) {
		if f.Whole && f.Data != nil {
			t.events = append(t.events, f)
		}
	}
	for i, e := range t.events {
		if (t.terminal < 0 || llm.MayGoOn(provider)) && llm.IsTerminalEvent(provider, e.Data) {
			t.terminal = i
		}
	}
	if len(t.events) > 0 && bytes.HasSuffix(t.body[:t.events[0].End], []byte("\r\n")) {
		t.newline = "\r\n"
	}
	return t
}

// findPlace returns where in the body a place is, and how many events come
// before it; ok is false when this reply has no such place.
func (t target) findPlace(p Place) (at, before int, ok bool) {
	switch p.At {
	case nowhere, beforeHeader, atStart:
		return 0, 0, true
	case atByte:
		for before < len(t.events) && t.events[before].End <= p.N {
			before++
		}
		return p.N, before, p.N <= len(t.body)
	case afterEvent:
		before = p.N
	case beforeTerminal:
		before = t.terminal
	case afterTerminal:
		before = t.terminal + 1
	}
	if t.terminal < 0 && p.At != afterEvent || before > len(t.events) {
		return 0, 0, false
	}
	if before == 0 {
		return t.events[0].Start, 0, true
	}
	return t.events[before-1].End, before, true
}

// frameEvent frames data as the body frames its own events.
func (t target) frameEvent(name string, data []byte) []byte {
	switch t.framing {
	case llm.EventStream:
		var b bytes.Buffer
		if name != "" {
			b.WriteString("event: " + name + t.newline)
		}
		b.WriteString("data: ")
		b.Write(data)
		b.WriteString(t.newline + t.newline)
		return b.Bytes()
	case llm.Lines:
		return append(bytes.Clone(data), t.newline...)
	default:
		return data
	}
}

// separateEvent returns an event as it must stand between its neighbours:
// elements of an array have commas between them.
func (t target) separateEvent(event []byte, before int) []byte {
	switch {
	case t.framing != llm.Array:
		return event
	case before > 0:
		return append([]byte(","+t.newline), event...)
	case len(t.events) > 0:
		return append(bytes.Clone(event), ","+t.newline...)
	}
	return event
}
