package llm

import (
	"bytes"
	"encoding/json"
	"iter"
	"mime"
	"slices"
	"strings"
)

// Frame is one piece of a reply body: an event of an event stream, an element of
// a JSON array, a line of NDJSON, or the whole body. Frames do not overlap and
// are in order. The frames of an event stream (including comments) and of NDJSON
// cover every byte; between those of an array are its brackets and commas.
type Frame struct {
	// Start and End are offsets into the body. They include what ends the frame:
	// an event's blank line, a line's LF.
	Start, End int
	// Name is the event field of an event stream, otherwise "".
	Name string
	// Data is the content, usually JSON; nil when there is none: a comment that
	// keeps the connection alive, a stray blank line. It may share the body's
	// bytes.
	Data []byte
	// Whole reports whether the frame reached its own end.
	Whole bool
}

// Frames splits a reply body. It accepts any bytes: what does not fit the format
// is a frame that is not Whole, or one without Data.
func Frames(contentType string, body []byte) iter.Seq[Frame] {
	switch FramingOf(contentType, body) {
	case EventStream:
		return sseFrames(body)
	case Array:
		return arrayFrames(body)
	case Lines:
		return lineFrames(body)
	case Document:
	}
	return singleFrame(body)
}

// Framing is how a body separates its frames.
type Framing int

// The framings.
const (
	Document    Framing = iota // it is one
	EventStream                // by blank lines
	Array                      // the elements of a JSON array
	Lines                      // NDJSON
)

// FramingOf returns how a body is framed. Errors come as plain JSON under any
// content type, and Gemini streams an array when no client asks for events.
func FramingOf(contentType string, body []byte) Framing {
	media, _, _ := mime.ParseMediaType(contentType)
	text := bytes.TrimLeft(body, space)
	switch {
	case len(text) == 0 && media != eventStream:
		return Document
	case slices.Contains(jsonLines, media):
		return Lines
	case len(text) > 0 && text[0] == '[':
		return Array
	case len(text) > 0 && text[0] == '{':
		return Document
	case media == eventStream, media == "" && looksLikeSSE(text):
		return EventStream
	}
	return Document
}

const eventStream = "text/event-stream"

// space is what JSON has between its tokens.
const space = " \t\r\n"

func looksLikeSSE(text []byte) bool {
	for _, start := range []string{"event:", "data:", ":", "id:", "retry:"} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}

// singleFrame yields a body in one piece. Only JSON shows that it was cut.
func singleFrame(body []byte) iter.Seq[Frame] {
	text := bytes.Trim(body, space)
	if len(text) == 0 {
		return func(func(Frame) bool) {}
	}
	f := Frame{Start: bytes.Index(body, text), Data: text, Whole: true}
	f.End = f.Start + len(text)
	if text[0] == '{' {
		f.Whole = isWholeJSON(text)
	}
	return func(yield func(Frame) bool) { yield(f) }
}

// lineFrames yields the lines of NDJSON.
func lineFrames(body []byte) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		for at := 0; at < len(body); {
			f := Frame{Start: at, End: len(body)}
			if n := bytes.IndexByte(body[at:], '\n'); n >= 0 {
				f.End, f.Whole = at+n+1, true
			}
			if text := bytes.Trim(body[at:f.End], space); len(text) > 0 {
				f.Data, f.Whole = text, f.Whole || isWholeJSON(text)
			}
			if !yield(f) {
				return
			}
			at = f.End
		}
	}
}

// arrayFrames yields the elements of a JSON array, each from its first to its
// last byte.
func arrayFrames(body []byte) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		for e := range Elements(body) {
			if !yield(Frame{Start: e.Start, End: e.End, Data: body[e.Start:e.End], Whole: e.Whole}) {
				return
			}
		}
	}
}

func isWholeJSON(text []byte) bool { return json.Valid(text) }

// completeEvents yields the data of every event that ends with a blank line, as
// the standard requires. An event that the end of the body cuts off is not
// yielded.
func completeEvents(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for f := range sseFrames(body) {
			if f.Whole && f.Data != nil && !yield(f.Data) {
				return
			}
		}
	}
}

// sseFrames yields the frames of an event stream. Lines end in LF, CRLF or CR; a
// byte order mark belongs to no frame; what the end of the body cuts off is a
// frame that is not Whole.
func sseFrames(body []byte) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		at := len(body) - len(bytes.TrimPrefix(body, []byte("\ufeff")))
		f := Frame{Start: at}
		for line, end := range endedLines(body, at) {
			if len(line) > 0 {
				f.addLine(line)
				continue
			}
			f.End, f.Whole = end, true
			if !yield(f) {
				return
			}
			f = Frame{Start: end}
		}
		if f.Start < len(body) {
			yield(f.unfinished(body))
		}
	}
}

// addLine adds a line to an event.
func (f *Frame) addLine(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if value = bytes.TrimPrefix(value, []byte(" ")); value == nil {
		value = []byte{} // a data line without a colon is one with no text
	}
	switch string(name) {
	case "event":
		f.Name = string(value)
	case "data":
		if f.Data == nil {
			f.Data = value[:len(value):len(value)] // the body's; a second line makes a copy
		} else {
			f.Data = append(append(f.Data, '\n'), value...)
		}
	}
}

// unfinished returns the frame of what no blank line completes. It may be whole
// nevertheless: Gemini writes an error into a stream as bare JSON.
func (f Frame) unfinished(body []byte) Frame {
	f.End = len(body)
	rest := body[f.Start:]
	if last := bytes.LastIndexAny(rest, "\r\n") + 1; last < len(rest) {
		f.addLine(rest[last:])
	}
	if text := bytes.Trim(rest, space); f.Data == nil && len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		f.Data, f.Whole = text, isWholeJSON(text)
	}
	return f
}

// endedLines yields the lines of body from an offset that have an end, and the
// offset of the next line.
func endedLines(body []byte, at int) iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		for {
			n := bytes.IndexAny(body[at:], "\r\n")
			if n < 0 {
				return
			}
			line := body[at : at+n]
			at += n + 1
			if body[at-1] == '\r' && at < len(body) && body[at] == '\n' {
				at++
			}
			if !yield(line, at) {
				return
			}
		}
	}
}

// Element is an element of a JSON array or a member of a JSON object, as offsets
// into the body that holds it.
type Element struct {
	// Name is the raw member name without its quotes, nil in an array. It shares
	// the body's bytes.
	Name []byte
	// Start is where the element begins: at its name in an object. Value is
	// where its value begins, End is where it ends.
	Start, Value, End int
	// Whole reports whether the value reached its own end.
	Whole bool
}

// Elements yields the elements of the JSON array or object that body holds. It
// counts brackets and quotes and checks nothing else: a body that was cut off
// yields a last element that is not Whole.
func Elements(body []byte) iter.Seq[Element] {
	return func(yield func(Element) bool) {
		at := bytes.IndexAny(body, "[{")
		if at < 0 {
			return
		}
		closing := body[at] + 2 // ] and } are two code points after [ and {
		for at++; ; {
			at = skipSeparators(body, at)
			if at == len(body) || body[at] == closing {
				return
			}
			e, ok := elementAt(body, at, closing == '}')
			if !ok || !yield(e) {
				return
			}
			at = e.End
		}
	}
}

// elementAt reads one element; ok is false where a member has no name or no value.
func elementAt(body []byte, at int, isMember bool) (e Element, ok bool) {
	e = Element{Start: at, Value: at}
	if isMember {
		end := stringEnd(body, at)
		colon := end + len(body[end:]) - len(bytes.TrimLeft(body[end:], space))
		if body[at] != '"' || colon == len(body) || body[colon] != ':' {
			return e, false
		}
		e.Name = body[at+1 : end-1]
		if e.Value = skipSeparators(body, colon+1); e.Value == len(body) {
			return e, false
		}
	}
	e.End, e.Whole = valueEnd(body, e.Value)
	return e, true
}

func skipSeparators(body []byte, at int) int {
	return len(body) - len(bytes.TrimLeft(body[at:], space+","))
}

// valueEnd returns where the JSON value at an offset ends, at least one byte
// after it, and whether the value's own bytes say so.
func valueEnd(body []byte, at int) (end int, closed bool) {
	depth := 0
	for i := at; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			i = stringEnd(body, i) - 1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return bracketEnd(i, at, depth), true
			}
		case depth == 0 && strings.IndexByte(space+",", c) >= 0:
			return i, true
		}
	}
	return len(body), false
}

// stringEnd returns the offset after the closing quote of the string whose
// opening quote is at an offset, or len(body) when it is not closed.
func stringEnd(body []byte, at int) int {
	for i := at + 1; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}

// bracketEnd returns the end of a value that a closing bracket at i ends: after
// the bracket, or before it when the bracket closes what holds the value.
func bracketEnd(i, at, depth int) int {
	if depth < 0 && i > at {
		return i
	}
	return i + 1
}
