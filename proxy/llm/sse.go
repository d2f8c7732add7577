package llm

import (
	"bytes"
	"iter"
)

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
