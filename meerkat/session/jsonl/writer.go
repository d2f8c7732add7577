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
// Store.SyncEvery says otherwise, one fsync, however long the session is (DESIGN §7).
type writer struct {
	file *os.File
	path string
	sync func(*os.File) error // (*os.File).Sync; tests watch it
	// turns is Store.SyncEvery; passed counts those since the last sync, and
	// loose says that there is something to sync.
	turns, passed int
	loose         bool
	updated       time.Time // the latest time of any record
	buf           []byte
	err           error // the first failure; sticks
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
	w.err = w.append(records)
	return w.err
}

func (w *writer) append(records []session.Record) (err error) {
	w.buf = w.buf[:0]
	for _, r := range records {
		if w.buf, err = session.AppendRecord(w.buf, r); err != nil {
			return err
		}
	}
	if !stillThere(w.file) {
		return fmt.Errorf("session file %s: somebody removed or replaced it while it was written; what was appended since then is lost", w.path)
	}
	if _, err := w.file.Write(w.buf); err != nil {
		return fmt.Errorf("session file %s: cannot append: %w", w.path, fileutil.Reason(err))
	}
	w.touch(records)
	w.loose = true
	if w.due(records) {
		return w.settle()
	}
	return nil
}

// due reports whether records must be on the disk before Append returns.
func (w *writer) due(records []session.Record) bool {
	if w.turns <= 0 {
		return w.turns == 0
	}
	end := false
	for _, r := range records {
		c, _ := r.(session.Checkpoint)
		switch c.Reason {
		case session.ReasonAssistant:
			w.passed++
		case session.ReasonCompleted:
			end = true
		case session.ReasonPrompt, session.ReasonToolResults, session.ReasonForked:
		}
	}
	return end || w.passed >= w.turns
}

// settle makes durable what is not.
func (w *writer) settle() error {
	w.loose, w.passed = false, 0
	if err := w.sync(w.file); err != nil {
		return fmt.Errorf("session file %s: cannot make it durable: %w", w.path, fileutil.Reason(err))
	}
	return nil
}

// touch gives the file the latest time of its records, so that a listing need
// not read them; a clock that goes back does not take it back. A file system
// without times costs the listing its order only.
func (w *writer) touch(records []session.Record) {
	if at := session.Latest(records...); at.After(w.updated) {
		w.updated = at
	}
	if !w.updated.IsZero() {
		_ = os.Chtimes(w.path, time.Time{}, w.updated)
	}
}

// Close implements session.Writer. Closing the file drops its lock.
func (w *writer) Close() error {
	if w.file == nil {
		return nil
	}
	var err error
	if w.loose && w.turns > 0 && w.err == nil {
		err = w.settle()
	}
	err = errors.Join(err, w.file.Close())
	w.file, w.err = nil, fmt.Errorf("session file %s: %w", w.path, session.ErrClosed)
	return err
}

// stillThere reports whether f is still what its name leads to.
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
