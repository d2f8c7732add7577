package jsonl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// writer appends to one locked file. One Append is one write and, unless
// Store.SyncEvery says otherwise, one fsync: the cost does not grow with the
// session.
type writer struct {
	file *os.File
	path string
	sync func(*os.File) error // (*os.File).Sync; tests watch it
	// syncEvery is Store.SyncEvery, in turns. unsynced is true while the file
	// holds records that are not durable.
	syncEvery, turnsSinceSync int
	unsynced                  bool
	updated                   time.Time // the latest time of any record
	chain                     session.Chain
	buf                       []byte
	err                       error // the first failure; sticks
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
	w.err = w.writeRecords(records)
	return w.err
}

// writeRecords appends records with one write.
func (w *writer) writeRecords(records []session.Record) (err error) {
	w.buf = w.buf[:0]
	for _, r := range records {
		if w.buf, err = w.chain.AppendRecord(w.buf, r); err != nil {
			return err
		}
	}
	if !stillThere(w.file) {
		return fmt.Errorf(
			"session file %s: somebody removed or replaced it while it was written; what was appended since then is lost",
			w.path,
		)
	}
	if _, err := w.file.Write(w.buf); err != nil {
		return fmt.Errorf("session file %s: cannot append: %w", w.path, fileutil.Reason(err))
	}
	// Give the file the latest time of its records, so that a listing
	// need not read them. A clock that goes back does not move it back. On a file
	// system without times only the order of a listing suffers.
	if at := session.Latest(records...); at.After(w.updated) {
		w.updated = at
	}
	if !w.updated.IsZero() {
		_ = os.Chtimes(w.path, time.Time{}, w.updated)
	}
	w.unsynced = true
	if w.mustSync(records) {
		return w.syncFile()
	}
	return nil
}

// mustSync reports whether records must be on the disk before Append returns.
func (w *writer) mustSync(records []session.Record) bool {
	if w.syncEvery <= 0 {
		return w.syncEvery == 0
	}
	end := false
	for _, r := range records {
		c, _ := r.(session.Checkpoint)
		switch c.Reason {
		case session.ReasonAssistant:
			w.turnsSinceSync++
		case session.ReasonCompleted:
			end = true
		case session.ReasonPrompt, session.ReasonToolResults, session.ReasonForked:
		}
	}
	return end || w.turnsSinceSync >= w.syncEvery
}

// syncFile makes everything durable that was written.
func (w *writer) syncFile() error {
	w.unsynced, w.turnsSinceSync = false, 0
	if err := w.sync(w.file); err != nil {
		return fmt.Errorf("session file %s: cannot make it durable: %w", w.path, fileutil.Reason(err))
	}
	return nil
}

// Close implements session.Writer.
func (w *writer) Close() error {
	if w.file == nil {
		return nil
	}
	var err error
	if w.unsynced && w.syncEvery > 0 && w.err == nil {
		err = w.syncFile()
	}
	err = errors.Join(err, fileutil.CloseLocked(w.file))
	w.file, w.err = nil, fmt.Errorf("session file %s: %w", w.path, session.ErrClosed)
	return err
}

// stillThere reports whether the name of f still leads to f.
func stillThere(f *os.File) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	want, err := os.Stat(f.Name())
	return err == nil && os.SameFile(have, want)
}

// syncDir makes a new or removed name durable.
func syncDir(dir string) error {
	if err := fileutil.SyncDir(dir); err != nil {
		return fmt.Errorf("session folder %s: %w", dir, fileutil.Reason(err))
	}
	return nil
}
