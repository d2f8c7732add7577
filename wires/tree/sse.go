package tree

import "strings"

// Event is one server-sent event.
type Event struct {
	// Off and End bound the event's bytes in the body, blank line included.
	Off, End int
	// DataOff is the offset of the first data byte.
	DataOff int
	Name    string // the event field, "" if there is none
	Data    string // the data lines joined by \n
	HasData bool
	// Unterminated is set for a last event that no blank line ends. The
	// standard says to discard it; a referee says that it was there.
	Unterminated bool
}

// ReadSSE splits a body into events by the rules of the HTML standard
// (§9.2.6): lines end in LF, CRLF or CR, a BOM at the start is skipped,
// comments and unknown fields are ignored, data lines join by LF. Blocks
// without any data line are not events. badLines holds the offsets of lines
// that are none of these: a server that sends them does not speak SSE.
func ReadSSE(body string) (events []Event, badLines []int) {
	pos := 0
	if strings.HasPrefix(body, "\xEF\xBB\xBF") {
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
func sseLine(body string, pos int) (line string, next int) {
	i := strings.IndexAny(body[pos:], "\r\n")
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
func (e *Event) readField(line string, off int) bool {
	name, value, found := strings.Cut(line, ":")
	if found && len(name) == 0 {
		return true // comment
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch name {
	case "event":
		e.Name = value
	case "data":
		e.addData(value, off+len(line)-len(value))
	case "id", "retry":
	default:
		return false
	}
	return true
}

func (e *Event) addData(value string, off int) {
	if !e.HasData {
		e.Data, e.DataOff, e.HasData = value, off, true
		return
	}
	e.Data += "\n" + value
}
