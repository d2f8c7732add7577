package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// Position is a place in the log of a session: after the event with that number. The
// zero Position is the beginning of any log.
type Position struct {
	// Log names the log. A log that was lost and begun again has another name, so that
	// a position of the old one is not mistaken for one of the new.
	Log string
	// Number counts the events of a log from 1.
	Number uint64
}

// String returns the form that [ParsePosition] reads; "" for the zero Position.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Log + "." + strconv.FormatUint(p.Number, 10)
}

// positionPattern is a name of at most 64 characters and a number without leading zeros.
var positionPattern = regexp.MustCompile(`^([A-Za-z0-9_-]{1,64})\.(0|[1-9][0-9]{0,18})$`)

// ParsePosition reads the form of Position.String.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	m := positionPattern.FindStringSubmatch(text)
	if m == nil {
		return Position{}, fmt.Errorf(
			"position %.80q: not one of an event; use the id of an event, or none for the beginning", text,
		)
	}
	n, err := strconv.ParseUint(m[2], 10, 64)
	return Position{m[1], n}, err
}

// LogEvent is one event of a session's log.
type LogEvent struct {
	Position Position
	// Kind is the type of the event, such as turn_started.
	Kind string
	Data json.RawMessage
}

// EventPage is a part of a log.
type EventPage struct {
	// Gap says that events between the position asked for and the first of the page are
	// no longer kept, or that the position is of a log that was lost.
	Gap    bool
	Events []LogEvent
	// Next is the position to ask for next.
	Next Position
}
