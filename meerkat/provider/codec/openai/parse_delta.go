package openai

import (
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// fastDelta reads the delta events that make up nearly all of a stream, and
// those that say nothing new, their type first as the API sends it. done is
// false, and nothing has happened, when the event is anything else: then the
// general path reads it.
func (d *dialect) fastDelta(data []byte) (done bool, err error) {
	f := fastEvent{Cursor: jsontok.Cursor{Src: data}}
	if !f.Lit(`{"type":"response.`) {
		return false, nil
	}
	kind := f.readKind()
	if kind == 0 && f.isRedundant() {
		return f.readOtherMembers() && f.End(), nil
	}
	if kind == 0 || !f.readUsualMembers() || !f.readOtherMembers() || f.seen != hasDelta|hasIndex || !f.End() {
		return false, nil
	}
	return true, d.asm.Append(f.index, kind, f.delta)
}

// fastEvent is a delta event being read.
type fastEvent struct {
	jsontok.Cursor
	index int
	delta []byte
	seen  int // hasDelta | hasIndex
}

const hasDelta, hasIndex = 1, 2

// readKind reads the rest of the type.
func (f *fastEvent) readKind() stream.EventKind {
	switch {
	case f.Lit(`output_text.delta"`), f.Lit(`refusal.delta"`):
		return stream.EventTextDelta
	case f.Lit(`function_call_arguments.delta"`):
		return stream.EventToolCallDelta
	case f.Lit(`reasoning_summary_text.delta"`), f.Lit(`reasoning_text.delta"`):
		return stream.EventReasoningDelta
	}
	return 0
}

// isRedundant reads the rest of a type that is among redundant.
func (f *fastEvent) isRedundant() bool {
	return f.Lit(`content_part.added"`) || f.Lit(`content_part.done"`) || f.Lit(`output_text.done"`) ||
		f.Lit(`function_call_arguments.done"`) || f.Lit(`code_interpreter_call_code.delta"`) ||
		f.Lit(`reasoning_summary_text.done"`)
}

// readUsualMembers reads the members that stand in the API's own order and spelling.
func (f *fastEvent) readUsualMembers() (ok bool) {
	ok = true
	if f.Lit(`,"sequence_number":`) {
		ok = f.skipInteger()
	}
	if ok && f.Lit(`,"item_id":`) {
		ok = f.skipString()
	}
	if ok && f.Lit(`,"output_index":`) {
		f.index, ok = f.Int()
		f.seen |= hasIndex
	}
	if ok && (f.Lit(`,"content_index":`) || f.Lit(`,"summary_index":`)) {
		ok = f.skipInteger()
	}
	if ok && f.Lit(`,"delta":`) {
		f.delta, ok = f.String()
		f.seen |= hasDelta
	}
	f.Lit(`,"logprobs":[]`)
	if ok && f.Lit(`,"obfuscation":`) {
		ok = f.skipString()
	}
	return ok
}

func (f *fastEvent) skipInteger() bool {
	_, ok := f.Int()
	return ok
}

func (f *fastEvent) skipString() bool {
	_, ok := f.String()
	return ok
}

// readOtherMembers reads what is left, in any order.
func (f *fastEvent) readOtherMembers() bool {
	for !f.Byte('}') {
		if !f.Byte(',') {
			return false
		}
		key, ok := f.Key()
		if !ok {
			return false
		}
		bit := 0
		switch string(key) {
		case "delta":
			bit = hasDelta
			f.delta, ok = f.String()
		case "output_index":
			bit = hasIndex
			f.index, ok = f.Int()
		case "type": // a second one
			return false
		default:
			ok = f.Skip()
		}
		if !ok || f.seen&bit != 0 {
			return false
		}
		f.seen |= bit
	}
	return true
}
