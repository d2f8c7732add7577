package rows

import (
	"context"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Row is what one Append stores.
type Row struct {
	Number int
	// Lines may be kept until the insertion returns.
	Lines []byte
	// Updated is the latest time of the records as [UnixNano] returns it; the time
	// of the session moves on to it and never back.
	Updated int64
}

// Writer is a session.Writer that adds one row for each Append: the cost does not grow
// with the session.
type Writer struct {
	// ID is the session.
	ID session.ID
	// Next is the number of the next row, Chain goes on behind the last record.
	Next  int
	Chain session.Chain
	// Insert makes a row durable before it returns. Its context does not end with
	// that of Append: nobody would know whether the row is stored.
	Insert func(context.Context, Row) error
	// Release gives the lock of the session back.
	Release func() error

	buf []byte
	err error // the first failure; sticks
}

// NewSession returns the header's row and a Writer, without Insert and Release, that
// goes on behind it.
func NewSession(h session.Header) (Row, *Writer, error) {
	if _, err := session.ParseID(string(h.ID)); err != nil {
		return Row{}, nil, err
	}
	w := &Writer{ID: h.ID, Next: 1}
	line, err := w.Chain.AppendRecord(nil, h)
	return Row{Lines: line, Updated: UnixNano(h.Created)}, w, err
}

// Append implements session.Writer.
func (w *Writer) Append(ctx context.Context, records ...session.Record) error {
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

func (w *Writer) insertRecords(ctx context.Context, records []session.Record) (err error) {
	w.buf = w.buf[:0]
	for _, r := range records {
		if w.buf, err = w.Chain.AppendRecord(w.buf, r); err != nil {
			return err
		}
	}
	err = w.Insert(ctx, Row{Number: w.Next, Lines: w.buf, Updated: UnixNano(session.Latest(records...))})
	w.Next++
	return err
}

// Close implements session.Writer.
func (w *Writer) Close() error {
	if w.Release == nil {
		return nil
	}
	err := w.Release()
	w.Release, w.err = nil, fmt.Errorf("session %s: %w", w.ID, session.ErrClosed)
	return err
}
