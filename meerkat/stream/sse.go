package stream

import (
	"bytes"
	"fmt"
	"slices"
)

// defaultMaxLine bounds one line of an event stream, in bytes. Signatures and
// images arrive on single lines; 16 MiB has been seen.
const defaultMaxLine = 64 << 20

// Frame is one event of an event stream. Its bytes are valid only during the
// call that hands it over.
type Frame struct {
	Name []byte // the event field; empty means "message"
	Data []byte // the data lines, joined by LF
	// N is the ordinal of the event, from 0; Offset is where its first field
	// line began, in bytes from the start of the stream.
	N      int
	Offset int64
}

// LineTooLongError says that a line, or the data of one event, is longer than
// Options.MaxLine allows.
type LineTooLongError struct {
	Max    int
	Offset int64 // where the event began
}

// Error names the option that raises the limit.
func (e *LineTooLongError) Error() string {
	return fmt.Sprintf(
		"stream: event at byte %d has a line of more than %d bytes; raise Options.MaxLine", e.Offset, e.Max,
	)
}

// SSE cuts a byte stream into events as the WHATWG standard says
// (html.spec.whatwg.org, "Interpreting an event stream"): lines end with LF, CR
// or CRLF, a CR ends its line at once, a byte order mark is skipped, an event
// without data is not dispatched. The id and retry fields serve reconnecting
// clients only and are ignored.
//
// Write may split the stream anywhere. Nothing is allocated for an event; bytes
// are copied only where a line spans two calls. An SSE is used by one goroutine.
type SSE struct {
	emit func(*Frame) error
	max  int
	err  error

	line   []byte // an unfinished line of earlier calls
	skipLF bool   // the last byte was CR
	bom    int    // bytes of a byte order mark seen; -1 when past the start

	frame       Frame  // the event under way; its bytes may alias the chunk
	ownN, ownD  []byte // where they go when they must outlive it
	from        int    // where the data begins in ownD
	has, joined bool   // has: a data line was seen; joined: the data lies in ownD
	begun       bool   // a field line was seen since the last dispatch
	offset      int64  // of the current line, in the stream

	// stray, if set, is offered the lines between events and reports whether it
	// took one: Gemini may break an event stream off with a bare JSON error.
	stray func(line []byte, offset int64) (taken bool, err error)
}

// NewSSE returns an SSE that calls emit for every event. An error of emit ends
// the stream and is returned by Write. maxLine of zero means defaultMaxLine.
func NewSSE(maxLine int, emit func(*Frame) error) *SSE {
	if maxLine <= 0 {
		maxLine = defaultMaxLine
	}
	return &SSE{emit: emit, max: maxLine}
}

// Write takes the next bytes of the stream. It never keeps p.
func (s *SSE) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	i := s.skipLeftovers(p)
	cr := -1 // the next CR at or after i, len(p) when there is none
	for i < len(p) {
		end := i // of the blank line that ends an event
		if p[i] != '\n' && p[i] != '\r' {
			if end, cr = lineEnd(p, i, cr); end == len(p) {
				break
			}
		}
		next := end + 1
		if p[end] == '\r' {
			next = s.afterCR(p, next)
		}
		if err := s.endLine(p[i:end]); err != nil {
			s.err = err
			return i, err
		}
		s.offset += int64(next - i)
		i = next
	}
	s.err = s.keepPartialLine(p[i:])
	return len(p), s.err
}

// lineEnd returns where the line that goes on at i ends, len(p) if not in p.
// cr is the next CR as far as an earlier call has found it.
func lineEnd(p []byte, i, cr int) (end, nextCR int) {
	if cr < i {
		if cr = bytes.IndexByte(p[i:], '\r'); cr < 0 {
			cr = len(p)
		} else {
			cr += i
		}
	}
	if lf := bytes.IndexByte(p[i:cr], '\n'); lf >= 0 {
		return i + lf, cr
	}
	return cr, cr
}

// afterCR skips the LF that belongs to a CR, which may come with the next call:
// the line has ended all the same.
func (s *SSE) afterCR(p []byte, next int) int {
	switch {
	case next == len(p):
		s.skipLF = true
	case p[next] == '\n':
		next++
	}
	return next
}

// skipLeftovers skips what the start of p still owes to the bytes before it: the LF of
// a CRLF, the byte order mark.
func (s *SSE) skipLeftovers(p []byte) int {
	if s.skipLF && len(p) > 0 {
		s.skipLF = false
		if p[0] == '\n' {
			s.offset++
			return 1
		}
		return 0
	}
	i := 0
	const mark = "\xEF\xBB\xBF"
	for s.bom >= 0 && i < len(p) {
		if p[i] != mark[s.bom] { // these bytes were not a mark after all
			s.line = append(s.line, mark[:s.bom]...)
			s.bom = -1
			break
		}
		i++
		if s.bom++; s.bom == len(mark) {
			s.bom = -1
			s.offset += int64(len(mark))
		}
	}
	return i
}

// endLine handles a line whose last piece is p.
func (s *SSE) endLine(p []byte) error {
	if len(p) == 0 && len(s.line) == 0 {
		return s.endEvent()
	}
	if len(s.line)+len(p) > s.max {
		return s.tooLong()
	}
	if len(s.line) == 0 {
		return s.readField(p)
	}
	// The offset of the line counts from its first piece.
	s.line = appendDoubling(s.line, p)
	err := s.readField(s.line)
	s.offset += int64(len(s.line) - len(p))
	if s.has && !s.joined { // the data lies in this line: let it keep the buffer
		s.ownD, s.line, s.from, s.joined = s.line, s.ownD, len(s.line)-len(s.frame.Data), true
	}
	s.copyBorrowed()
	s.line = s.line[:0]
	return err
}

// appendDoubling appends p to buf, which it doubles when it must grow: append alone
// grows large buffers by a quarter, and copies a long line five times.
func appendDoubling(buf, p []byte) []byte {
	if cap(buf)-len(buf) < len(p) {
		buf = slices.Grow(buf, len(buf)+len(p))
	}
	return append(buf, p...)
}

// keepPartialLine holds the unfinished line p, and what aliases the chunk that ends.
func (s *SSE) keepPartialLine(p []byte) error {
	s.copyBorrowed()
	if len(s.line)+len(p) > s.max {
		return s.tooLong()
	}
	s.line = appendDoubling(s.line, p)
	return nil
}

// copyBorrowed copies what the event under way has borrowed.
func (s *SSE) copyBorrowed() {
	if len(s.frame.Name) > 0 {
		s.ownN = append(s.ownN[:0], s.frame.Name...)
		s.frame.Name = s.ownN
	}
	if s.has && !s.joined {
		s.ownD = append(s.ownD[:0], s.frame.Data...)
		s.frame.Data, s.from, s.joined = s.ownD, 0, true
	}
}

// readField interprets one line.
func (s *SSE) readField(line []byte) error {
	if len(line) == 0 {
		return s.endEvent()
	}
	if line[0] == ':' {
		return nil
	}
	if s.stray != nil && !s.begun {
		if taken, err := s.stray(line, s.offset); taken {
			return err
		}
	}
	if !s.begun {
		s.begun, s.frame.Offset = true, s.offset
	}
	switch {
	case len(line) >= 4 && string(line[:4]) == "data":
		if v, ok := fieldValue(line[4:]); ok {
			if !s.has {
				s.frame.Data, s.has, s.joined = v, true, false
				return nil
			}
			if len(s.frame.Data)+1+len(v) > s.max {
				return s.tooLong()
			}
			if !s.joined {
				s.copyBorrowed()
			}
			s.ownD = append(append(s.ownD, '\n'), v...)
			s.frame.Data = s.ownD[s.from:]
			return nil
		}
	case len(line) >= 5 && string(line[:5]) == "event":
		if v, ok := fieldValue(line[5:]); ok {
			s.frame.Name = v
		}
	}
	return nil
}

// fieldValue returns the value of a field, given what follows its name; a longer
// name is another field.
func fieldValue(rest []byte) ([]byte, bool) {
	switch {
	case len(rest) == 0:
		return rest, true
	case rest[0] != ':':
		return nil, false
	case len(rest) > 1 && rest[1] == ' ':
		return rest[2:], true
	}
	return rest[1:], true
}

// endEvent ends the event under way.
func (s *SSE) endEvent() (err error) {
	if s.has {
		err = s.emit(&s.frame)
		s.frame.N++
	}
	s.frame.Name, s.frame.Data = nil, nil
	s.has, s.joined, s.begun = false, false, false
	return err
}

func (s *SSE) tooLong() error {
	offset := s.offset
	if s.begun {
		offset = s.frame.Offset
	}
	return &LineTooLongError{Max: s.max, Offset: offset}
}

// Close ends the stream and returns the event that was under way, if any: one
// that no blank line ended. The standard drops such an event, and so does SSE;
// the caller may call it unterminated_event or, in lenient mode, decode it.
func (s *SSE) Close() (Frame, bool) {
	if s.err != nil {
		return Frame{}, false
	}
	s.err = errClosed
	if s.bom > 0 {
		s.line = append(s.line, "\xEF\xBB\xBF"[:s.bom]...)
	}
	line := s.line
	s.line = nil
	if len(line) > 0 {
		if s.readField(line) != nil {
			return Frame{}, false
		}
	}
	return s.frame, s.has
}
