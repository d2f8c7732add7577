// Package rows holds what the stores in databases have in common. Such a store keeps a
// session in numbered rows: row 0 is the header, and each Append adds one row with the
// lines of its records, in one transaction. A crash leaves all of a row or nothing.
package rows

import (
	"errors"
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Rows collects the rows of one session in the order of their numbers. The zero Rows
// are empty.
type Rows struct {
	// Name is what errors call the session's rows.
	Name string
	// Next is the number that the next row must have.
	Next int
	// Least is how many rows were stored, as the store has noted beside them; 0: it has not.
	// Others may have been added since.
	Least int
	data  []byte
}

// Add adds a copy of lines, the row of that number. A missing row before it is a
// *session.CorruptError: what follows depends on it.
func (r *Rows) Add(number int, lines []byte) error {
	if number != r.Next {
		return r.missingError()
	}
	r.data, r.Next = append(r.data, lines...), number+1
	return nil
}

func (r *Rows) missingError() error {
	return &session.CorruptError{Path: r.Name, Err: fmt.Errorf("append %d is missing", r.Next)}
}

// Parse returns what the rows of session id add up to, session.ErrNotFound if there
// are none, a *session.CorruptError or a *session.VersionError.
func (r *Rows) Parse(id session.ID) (session.Parsed, error) {
	if r.Next < r.Least {
		return session.Parsed{}, r.missingError()
	}
	if r.Next == 0 {
		return session.Parsed{}, session.NotFound(id)
	}
	return parseLines(r.Name, id, r.data)
}

// parseLines reads all records of a session. A row is stored whole or not at all, so an
// incomplete last record is damage here.
func parseLines(name string, id session.ID, data []byte) (session.Parsed, error) {
	p, err := session.Parse(name, data)
	if err == nil && p.Good != len(data) {
		err = &session.CorruptError{Path: name, Err: errors.New("the last record is damaged")}
	}
	if err == nil && p.Session.ID != id {
		err = &session.CorruptError{Path: name, Line: 1, Err: fmt.Errorf("it belongs to session %s", p.Session.ID)}
	}
	return p, err
}

// Info returns what a listing says of a session whose header line and time of the
// last update are given; errors call it name.
func Info(name string, id session.ID, header []byte, updated time.Time) session.Info {
	p, err := parseLines(name, id, header)
	if err != nil {
		return session.Info{Header: session.Header{ID: id, Created: updated}, Updated: updated, Problem: err}
	}
	return session.Info{Header: p.Session.Header, Updated: updated}
}

// UnixNano returns t in nanoseconds, as an index stores it. The zero time sorts before
// all others.
func UnixNano(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 63
	}
	return t.UnixNano()
}
