package llm

import (
	"bytes"
	"encoding/json"
	"iter"
	"mime"
	"slices"
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
