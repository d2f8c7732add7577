package wire

import "bytes"

// Event is one server-sent event.
type Event struct {
	// Off and End bound the event's bytes in the body, blank line included.
	Off, End int
	// DataOff is the offset of the first data byte.
	DataOff int
	Name    string // the event field, "" if there is none
	Data    []byte // the data lines joined by \n
	HasData bool
	// Unterminated is set for a last event that no blank line ends. The
	// standard says to discard it; a referee says that it was there.
	Unterminated bool
}

// readSSE splits a body into events by the rules of the HTML standard
// (§9.2.6): lines end in LF, CRLF or CR, a BOM at the start is skipped,
// comments and unknown fields are ignored, data lines join by LF. Blocks
// without any data line are not events. BadLines holds the offsets of lines
// that are none of these: a server that sends them does not speak SSE.
func readSSE(body []byte) (events []Event, badLines []int) {
	pos := 0
	if bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")) {
		pos = 3
	}
	ev := Event{Off: pos}
	for pos < len(body) {
		line, next := sseLine(body, pos)
		if len(line) == 0 {
			if ev.HasData {
				ev.End = next
				events = append(events, ev)
			}
			ev = Event{Off: next}
		} else if !ev.readField(line, pos) {
			badLines = append(badLines, pos)
		}
		pos = next
	}
	if ev.HasData {
		ev.End, ev.Unterminated = len(body), true
		events = append(events, ev)
	}
	return events, badLines
}

// sseLine returns the line at pos without its ending, and the offset after it.
func sseLine(body []byte, pos int) (line []byte, next int) {
	i := bytes.IndexAny(body[pos:], "\r\n")
	if i < 0 {
		return body[pos:], len(body)
	}
	end := pos + i
	next = end + 1
	if body[end] == '\r' && next < len(body) && body[next] == '\n' {
		next++
	}
	return body[pos:end], next
}

// readField reads one line that stands at off. It returns false for a line that is
// not valid SSE.
func (e *Event) readField(line []byte, off int) bool {
	name, value, found := bytes.Cut(line, []byte(":"))
	if found && len(name) == 0 {
		return true // comment
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "event":
		e.Name = string(value)
	case "data":
		e.addData(value, off+len(line)-len(value))
	case "id", "retry":
	default:
		return false
	}
	return true
}

func (e *Event) addData(value []byte, off int) {
	if !e.HasData {
		e.Data, e.DataOff, e.HasData = value, off, true
		return
	}
	e.Data = append(append(bytes.Clone(e.Data), '\n'), value...)
}
