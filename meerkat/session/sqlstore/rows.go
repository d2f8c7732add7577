package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// rows collects the rows of one session in the order of their numbers.
type rows struct {
	name string // what errors call them
	next int    // the number that the next row must have
	data []byte
}

// addRow adds a copy of lines, the row of that number. A missing row before it is a
// *session.CorruptError: what follows depends on it.
func (r *rows) addRow(number int, lines []byte) error {
	if number != r.next {
		return r.missingError()
	}
	r.data, r.next = append(r.data, lines...), number+1
	return nil
}

func (r *rows) missingError() error {
	return &session.CorruptError{Path: r.name, Err: fmt.Errorf("append %d is missing", r.next)}
}

// parseRows returns what the rows of session id add up to, session.ErrNotFound if there
// are none, a *session.CorruptError or a *session.VersionError.
func (r *rows) parseRows(id session.ID) (session.Parsed, error) {
	if r.next == 0 {
		return session.Parsed{}, session.NotFound(id)
	}
	return parseLines(r.name, id, r.data)
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

// infoOf returns what a listing says of a session whose header line and time of the
// last update are given; errors call it name.
func infoOf(name string, id session.ID, header []byte, updated time.Time) session.Info {
	p, err := parseLines(name, id, header)
	if err != nil {
		return session.Info{Header: session.Header{ID: id, Created: updated}, Updated: updated, Problem: err}
	}
	return session.Info{Header: p.Session.Header, Updated: updated}
}

// unixNano returns t in nanoseconds, as an index stores it. The zero time sorts before
// all others.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 63
	}
	return t.UnixNano()
}

// row is what one Append stores.
type row struct {
	number int
	lines  []byte // valid until the insertion returns
	// updated is the latest time of the records as unixNano returns it.
	updated int64
}

// writer is a session.Writer that adds one row for each Append: the cost does not grow
// with the session.
type writer struct {
	id    session.ID
	next  int           // the number of the next row
	chain session.Chain // goes on behind the last record
	// insert makes a row durable before it returns. Its context does not end with
	// that of Append: nobody would know whether the row is stored.
	insert func(context.Context, row) error
	// release gives the lock of the session back; nil: the writer is closed.
	release func() error

	buf []byte
	err error // the first failure; sticks
}

// Append implements session.Writer.
func (w *writer) Append(ctx context.Context, records ...session.Record) error {
	if w.err != nil {
		return w.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(records) == 0 {
		return nil
	}
	w.err = w.insertRecords(context.WithoutCancel(ctx), records)
	return w.err
}

func (w *writer) insertRecords(ctx context.Context, records []session.Record) (err error) {
	w.buf = w.buf[:0]
	for _, r := range records {
		if w.buf, err = w.chain.AppendRecord(w.buf, r); err != nil {
			return err
		}
	}
	err = w.insert(ctx, row{number: w.next, lines: w.buf, updated: unixNano(session.Latest(records...))})
	w.next++
	return err
}

// Close implements session.Writer.
func (w *writer) Close() error {
	if w.release == nil {
		return nil
	}
	err := w.release()
	w.release, w.err = nil, fmt.Errorf("session %s: %w", w.id, session.ErrClosed)
	return err
}
