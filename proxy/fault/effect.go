package fault

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// replaceReply returns the replacement of the whole reply, if the fault leaves
// nothing of it.
func (f Fault) replaceReply(t target) (Script, bool) {
	switch {
	case f.Kind == kindStatus:
		return f.errorReply(t.provider), true
	case f.Place.At != beforeHeader:
		return Script{}, false
	case f.Kind == kindReset:
		return Script{Wait: t.script.Wait, End: Reset}, true
	case f.Kind == kindClose:
		return Script{Wait: t.script.Wait, End: Close}, true
	case f.Kind == kindStall && f.Then.ending() != "":
		return Script{Wait: t.script.Wait, Hold: f.For, End: f.Then.ending()}, true
	}
	return Script{}, false
}

// errorReply returns an error reply as the provider would have sent it.
func (f Fault) errorReply(provider string) Script {
	kind, body := llm.ErrorBody(provider, f.Status, f.errorMessage(f.Status))
	h := http.Header{"Content-Type": {kind}, "Content-Length": {strconv.Itoa(len(body))}}
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	maps.Copy(h, f.Header)
	return Script{Status: f.Status, Header: h, Steps: []Step{{Data: body}}, End: EOF}.dropWrongLength()
}

// errorMessage returns the plan's message, or one that providers use.
func (f Fault) errorMessage(status int) string {
	if f.Message != "" {
		return f.Message
	}
	switch status {
	case http.StatusTooManyRequests:
		return "This request would exceed your rate limit. Please try again later."
	case 529:
		return "Overloaded"
	case http.StatusServiceUnavailable:
		return "The model is overloaded. Please try again later."
	}
	if status < http.StatusInternalServerError {
		return cmp.Or(http.StatusText(status), "Bad Request")
	}
	return "Internal server error"
}

// editFor returns what the fault does to t; ok is false when t has no place for
// it.
func (f Fault) editFor(t target, dice *rand.Rand) (e edit, ok bool) {
	e, before, ok := f.editAtPlace(t)
	if !ok {
		return e, false
	}
	switch f.Kind {
	case kindReset:
		e.end = Reset
	case kindClose:
		e.end = Close
	case kindTruncate:
		e.end = EOF
	case kindStall:
		return f.stall(e), true
	case kindErrorEvent:
		return f.errorEvent(t, e, before)
	case kindGarbage:
		e.writes = [][]byte{f.garbageEvent(t, before, dice)}
	case kindDuplicate:
		return duplicateEvent(t, e, before)
	case kindReorder:
		return reorderEvents(t, e, before)
	case kindPingFlood:
		return f.floodPings(t, e)
	case kindBadUTF8:
		return f.badUTF8(t, e, dice)
	case kindContentType:
		e.head = func(s Script) Script { return s.setHeader("Content-Type", f.Value) }
	case kindContentLength:
		e.head = func(s Script) Script { return s.declareLength(f.By) }
		return e, len(t.body)+f.By >= 0
	default: // kindStatus leaves no reply to edit: see replaceReply
		return e, false
	}
	return e, true
}

// editAtPlace returns an empty edit at the fault's place, and how many events
// come before it.
func (f Fault) editAtPlace(t target) (e edit, before int, ok bool) {
	if e.at, before, ok = t.findPlace(f.Place); !ok {
		return e, 0, false
	}
	if f.Place.At == atStart && f.insertsEvent() && t.framing == llm.Array {
		if len(t.events) == 0 {
			return e, 0, false
		}
		e.at = t.events[0].Start // after the bracket
	}
	return e, before, true
}

func (f Fault) stall(e edit) edit {
	if f.Place.At == beforeHeader {
		e.head = func(s Script) Script { s.Hold += f.For; return s }
		return e
	}
	e.hold, e.end = f.For, f.Then.ending()
	return e
}

// insertsEvent reports whether the fault puts an event into the body.
func (f Fault) insertsEvent() bool {
	return f.Kind == kindErrorEvent || f.Kind == kindGarbage || f.Kind == kindPingFlood
}

func (f Fault) errorEvent(t target, e edit, before int) (edit, bool) {
	status := cmp.Or(f.Status, llm.CommonError(t.provider))
	name, data := llm.ErrorEvent(t.provider, status, f.errorMessage(status))
	event := t.separateEvent(t.frameEvent(name, data), before)
	if e.end = f.Then.ending(); e.end != "" && t.framing == llm.Array {
		event = append(bytes.TrimRight(event, ",\r\n"), ']')
	}
	e.writes = [][]byte{event}
	return e, t.framing != llm.Document
}

// printable are characters that are valid in every kind of body.
const printable = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+-./:<=>?@^_|~"

// garbageEvent returns an event that is not JSON: the plan's text, or one that
// looks like an event until it is parsed.
func (f Fault) garbageEvent(t target, before int, dice *rand.Rand) []byte {
	if f.Text != "" {
		return []byte(f.Text)
	}
	noise := make([]byte, 8+dice.IntN(24))
	for i := range noise {
		noise[i] = printable[dice.IntN(len(printable))]
	}
	return t.separateEvent(t.frameEvent("", append([]byte(`{"type":`), noise...)), before)
}

func duplicateEvent(t target, e edit, before int) (edit, bool) {
	if before == 0 {
		return e, false
	}
	event := t.events[before-1]
	e.writes = [][]byte{t.separateEvent(t.body[event.Start:event.End], before)}
	return e, true
}

// reorderEvents swaps the events before and after the place; what is between
// them stays.
func reorderEvents(t target, e edit, before int) (edit, bool) {
	if before == 0 || before == len(t.events) {
		return e, false
	}
	a, b := t.events[before-1], t.events[before]
	e.at, e.drop = a.Start, b.End-a.Start
	e.writes = [][]byte{t.body[b.Start:b.End]}
	if a.End < b.Start {
		e.writes = append(e.writes, t.body[a.End:b.Start])
	}
	e.writes = append(e.writes, t.body[a.Start:a.End])
	return e, true
}

func (f Fault) floodPings(t target, e edit) (edit, bool) {
	var ping []byte
	switch t.framing {
	case llm.EventStream:
		ping = llm.Ping(t.provider, t.newline)
	case llm.Array, llm.Lines:
		ping = []byte(t.newline) // white space, or an empty line
	case llm.Document:
		return e, false
	}
	for range f.Count {
		e.writes = append(e.writes, ping)
	}
	e.every = f.For
	return e, true
}

// invalidUTF8 are byte sequences that are not UTF-8: an invalid byte, a lone
// continuation, an overlong form, a surrogate, an unfinished character.
var invalidUTF8 = []string{"\xff", "\x80", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"}

// inText finds the first character of a text that a client reads, in the JSON of any provider's events. Empty
// texts, as in the first event of a block, show a client nothing. anyText finds the beginning of any string member.
var (
	inText = regexp.MustCompile(
		`"(?:text|delta|thinking|partial_json|arguments|content|reasoning_content|reasoning|refusal)"\s*:\s*"()[^"]`)
	anyText = regexp.MustCompile(`"\s*:\s*"()`)
)

// badUTF8 puts invalid UTF-8 into the first text after the place; with at_byte, exactly there.
func (f Fault) badUTF8(t target, e edit, dice *rand.Rand) (edit, bool) {
	e.writes = [][]byte{[]byte(invalidUTF8[dice.IntN(len(invalidUTF8))])}
	if f.Place.At == atByte {
		return e, true
	}
	for _, pattern := range []*regexp.Regexp{inText, anyText} {
		if m := pattern.FindSubmatchIndex(t.body[e.at:]); m != nil {
			e.at += m[2]
			return e, true
		}
	}
	return e, false
}

// declareLength announces a length that is wrong by so many bytes. When it is
// too short the reply ends there, as HTTP/1.1 requires.
func (s Script) declareLength(by int) Script {
	size := len(s.Body()) + by
	if by < 0 {
		cut := remaining{steps: s.Steps}
		s.Steps = cut.takeUntil(size)
	}
	s = s.setHeader("Content-Length", strconv.Itoa(max(size, 0)))
	s.Trailer = nil
	return s
}

// edit is one change of a script at an offset of its recorded body. Offsets are
// those of the recording, however many edits there are.
type edit struct {
	at     int
	drop   int                 // how many bytes are left out from there on
	writes [][]byte            // what is inserted, each by one write
	every  time.Duration       // the time between the writes
	hold   time.Duration       // the wait before what follows
	end    End                 // if not "", the reply ends there in this way
	head   func(Script) Script // changes status, header or length; may be nil
}

// applyEdits makes the edits in the order of their offsets; at one offset, in
// the order of the list. An edit after an ending is not made. made lists the
// indexes of those that were.
func applyEdits(s Script, edits []edit) (out Script, made []int) {
	order := make([]int, len(edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return edits[a].at - edits[b].at })
	rest := remaining{steps: s.Steps}
	out = s
	out.Steps = nil
	var ended bool
	for _, i := range order {
		e := edits[i]
		made = append(made, i)
		out.Steps = append(out.Steps, rest.takeUntil(e.at)...)
		rest.skipBytes(e.at + e.drop - rest.pos) // what an edit before left out is gone already
		out.Steps = append(out.Steps, rest.insertionSteps(e)...)
		rest.hold += e.hold
		if ended = e.end != ""; ended {
			out.End, out.Trailer = e.end, nil
			break
		}
	}
	if !ended {
		out.Steps = append(out.Steps, rest.takeUntil(math.MaxInt)...)
	}
	if rest.hold > 0 {
		out.Steps = append(out.Steps, Step{At: rest.now, Hold: rest.hold})
	}
	out = out.dropWrongLength()
	for _, i := range made {
		if edits[i].head != nil {
			out = edits[i].head(out)
		}
	}
	return out, made
}

// remaining is the part of a script that has not been copied yet.
type remaining struct {
	steps []Step
	pos   int           // in the recorded body
	now   time.Duration // when what was taken last was recorded
	hold  time.Duration // to be waited before the next step
}

// takeUntil takes the steps up to an offset and divides the step that contains
// it.
func (r *remaining) takeUntil(at int) (taken []Step) {
	for len(r.steps) > 0 && r.pos < at {
		step := r.steps[0]
		n := min(len(step.Data), at-r.pos)
		taken = append(taken, Step{At: step.At, Hold: step.Hold + r.hold, Data: step.Data[:n]})
		r.hold, r.now = 0, step.At
		r.advance(n)
	}
	return taken
}

func (r *remaining) skipBytes(n int) {
	for len(r.steps) > 0 && n > 0 {
		size := min(len(r.steps[0].Data), n)
		r.now = r.steps[0].At
		r.advance(size)
		n -= size
	}
}

func (r *remaining) advance(n int) {
	r.pos += n
	step := &r.steps[0]
	if n == len(step.Data) {
		r.steps = r.steps[1:]
		return
	}
	r.steps = slices.Clone(r.steps)
	r.steps[0].Data, r.steps[0].Hold = step.Data[n:], 0
}

// insertionSteps returns the steps that an edit inserts.
func (r *remaining) insertionSteps(e edit) (steps []Step) {
	for i, data := range e.writes {
		step := Step{At: r.now, Hold: r.hold, Data: data}
		if i > 0 {
			step.Hold += e.every
		}
		r.hold = 0
		steps = append(steps, step)
	}
	return steps
}
