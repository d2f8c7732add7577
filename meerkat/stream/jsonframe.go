package stream

import (
	"bytes"
	"fmt"
)

// jsonFrames cuts a JSON array that arrives in pieces into its elements. A bare
// object is one element. Gemini sends both forms: streams without alt=sse are
// arrays, and errors may be bare objects. jsonFrames follows brackets and
// strings only; the reader of an element checks that it is JSON.
type jsonFrames struct {
	emit func(*Frame) error
	max  int
	err  error

	buf    []byte // the element under way
	depth  int    // open brackets of the element
	inStr  bool
	esc    bool // the last byte was a backslash inside a string
	array  bool // the outer bracket was seen
	closed bool // the outer bracket was closed, or the bare object has ended
	frame  Frame
	offset int64
}

// Write takes the next bytes. It never keeps p.
func (j *jsonFrames) Write(p []byte) (int, error) {
	if j.err != nil {
		return 0, j.err
	}
	for i := 0; i < len(p); {
		n := 1
		if len(j.buf) > 0 {
			n = j.readInside(p[i:])
		} else {
			j.readBetween(p[i])
		}
		i += n
		j.offset += int64(n)
		if j.err != nil {
			return i, j.err
		}
	}
	return len(p), nil
}

// readBetween handles a byte outside every element.
func (j *jsonFrames) readBetween(c byte) {
	switch {
	case c == ' ' || c == '\n' || c == '\r' || c == '\t' || (c == ',' && j.array && !j.closed):
	case j.closed:
		j.err = j.malformedError("%q after the end of the JSON reply", c)
	case c == '[' && !j.array:
		j.array = true
	case c == ']' && j.array:
		j.closed = true
	case c == '{':
		j.frame.Offset, j.depth = j.offset, 1
		j.buf = append(j.buf[:0], c)
	default:
		j.err = j.malformedError("%q where a JSON object was expected", c)
	}
}

func (j *jsonFrames) malformedError(format string, args ...any) error {
	return &AnomalyError{Anomaly: Anomaly{
		Rule: RuleMalformedEvent, Detail: fmt.Sprintf(format, args...), Event: j.frame.N, Offset: j.offset,
	}}
}

// readInside consumes bytes of the element under way and returns how many.
func (j *jsonFrames) readInside(p []byte) int {
	i := 0
	for i < len(p) && j.depth > 0 {
		switch {
		case j.esc:
			j.esc = false
			i++
		case j.inStr:
			i += j.readString(p[i:])
		default:
			switch p[i] {
			case '"':
				j.inStr = true
			case '{', '[':
				j.depth++
			case '}', ']':
				j.depth--
			}
			i++
		}
	}
	if len(j.buf)+i > j.max {
		j.err = &LineTooLongError{Max: j.max, Offset: j.frame.Offset}
		return i
	}
	j.buf = appendDoubling(j.buf, p[:i])
	if j.depth == 0 {
		j.err = j.endElement()
	}
	return i
}

// readString consumes bytes of a string up to and including a quote or backslash.
func (j *jsonFrames) readString(p []byte) int {
	i := bytes.IndexAny(p, `"\`)
	if i < 0 {
		return len(p)
	}
	j.inStr, j.esc = p[i] == '\\', p[i] == '\\'
	return i + 1
}

func (j *jsonFrames) endElement() error {
	j.frame.Data = j.buf
	err := j.emit(&j.frame)
	j.frame.N++
	j.buf = j.buf[:0]
	j.closed = !j.array
	return err
}

// Close returns the element under way, if the stream ended inside one.
func (j *jsonFrames) Close() (Frame, bool) {
	if j.err != nil {
		return Frame{}, false
	}
	j.err = errClosed
	j.frame.Data = j.buf
	return j.frame, len(j.buf) > 0 || (j.array && !j.closed)
}

// sniffer decides by the first byte whether a stream is JSON or server-sent
// events. It skips white space and a byte order mark before that byte. It also
// reads a JSON value between two events: the API ends a stream that fails with
// the bare error object.
type sniffer struct {
	emit func(*Frame) error
	max  int
	sse  *SSE
	json *jsonFrames
	bare *jsonFrames // the value between events that is under way
	seen int         // events so far
	n    int64
	bom  int
	set  bool // the first byte was seen
}

func newSniffer(maxLine int, emit func(*Frame) error) *sniffer {
	s := &sniffer{emit: emit}
	s.sse = NewSSE(maxLine, s.countAndEmit)
	s.sse.stray = s.readStrayLine
	s.max = s.sse.max
	return s
}

// countAndEmit numbers the events of both readers in one row.
func (s *sniffer) countAndEmit(f *Frame) error {
	f.N = s.seen
	s.seen++
	return s.emit(f)
}

// readStrayLine takes a line that begins or continues a bare JSON value.
func (s *sniffer) readStrayLine(line []byte, offset int64) (bool, error) {
	if s.bare == nil {
		if line[0] != '{' && line[0] != '[' {
			return false, nil
		}
		s.bare = &jsonFrames{emit: s.countAndEmit, max: s.max}
	}
	s.bare.offset = offset
	_, err := s.bare.Write(line)
	if err == nil && s.bare.closed {
		s.bare = nil
	}
	return true, err
}

// Write takes the next bytes. It never keeps p.
func (s *sniffer) Write(p []byte) (int, error) {
	if s.set {
		if s.json != nil {
			return s.json.Write(p)
		}
		return s.sse.Write(p)
	}
	for i, c := range p {
		const mark = "\xEF\xBB\xBF"
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case s.bom < len(mark) && c == mark[s.bom]:
			s.bom++
		default:
			s.set = true
			if c == '[' || c == '{' {
				s.json = &jsonFrames{emit: s.countAndEmit, max: s.max, offset: s.n + int64(i)}
				n, err := s.json.Write(p[i:])
				return i + n, err
			}
			return s.sse.Write(p)
		}
	}
	s.n += int64(len(p))
	return s.sse.Write(p)
}

// Close ends the reader that was chosen.
func (s *sniffer) Close() (Frame, bool) {
	if s.json != nil {
		return s.json.Close()
	}
	f, pending := s.sse.Close()
	if s.bare != nil {
		f, pending = s.bare.Close()
	}
	f.N = s.seen
	return f, pending
}
