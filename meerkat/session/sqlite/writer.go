package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// writer appends to the session whose lock it holds. One Append is one
// transaction of one row: the cost does not grow with the session.
type writer struct {
	store *Store
	id    session.ID
	lock  *os.File
	next  int
	chain session.Chain
	buf   []byte
	err   error // the first failure; sticks
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
	// A commit is not interrupted: nobody would know whether it took place.
	w.err = w.insertRecords(context.WithoutCancel(ctx), records)
	return w.err
}

// insertRecords stores records as one row and updates the time of the session.
func (w *writer) insertRecords(ctx context.Context, records []session.Record) (err error) {
	w.buf = w.buf[:0]
	for _, r := range records {
		if w.buf, err = w.chain.AppendRecord(w.buf, r); err != nil {
			return err
		}
	}
	err = w.store.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO records VALUES (?,?,?)", string(w.id), w.next, w.buf); err != nil {
			return err
		}
		at := session.Latest(records...)
		if at.IsZero() {
			return nil
		}
		_, err := tx.ExecContext(ctx, "UPDATE sessions SET updated = max(updated, ?) WHERE id = ?", unixNano(at), string(w.id))
		return err
	})
	w.next++
	return err
}

// Close implements session.Writer. Closing the file drops the lock.
func (w *writer) Close() error {
	if w.lock == nil {
		return nil
	}
	err := w.lock.Close()
	w.lock, w.err = nil, fmt.Errorf("session %s: %w", w.id, session.ErrClosed)
	return err
}
