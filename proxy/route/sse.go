package route

import (
	"bytes"
	"iter"
)

// events yields the data of every event that its blank line completes, as the
// standard frames them: an event that the end of the body cuts off is none.
// Lines end in LF, CRLF or CR; a byte order mark is skipped.
func events(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var data []byte
		some := false
		for line := range lines(bytes.TrimPrefix(body, []byte("\ufeff"))) {
			switch text, isData := field(line); {
			case len(line) == 0 && some:
				if !yield(data) {
					return
				}
				data, some = nil, false
			case isData && some:
				data = append(append(bytes.Clone(data), '\n'), text...)
			case isData:
				data, some = text, true
			}
		}
	}
}

// field returns the value of a data line.
func field(line []byte) ([]byte, bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(value, []byte(" ")), string(name) == "data"
}

// lines yields the lines that have an end.
func lines(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			n := bytes.IndexAny(body, "\r\n")
			if n < 0 || !yield(body[:n]) {
				return
			}
			if bytes.HasPrefix(body[n:], []byte("\r\n")) {
				n++
			}
			body = body[n+1:]
		}
	}
}
