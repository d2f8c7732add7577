package cassette

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// CreateOptions says how Create treats what is there already.
type CreateOptions struct {
	// Force lets Close replace a finished cassette of the same name. Until
	// Close succeeds the old one stays as it is.
	Force bool
}

// Writer records a cassette. Its methods are safe for concurrent use; after
// Close or Discard they return an error.
type Writer struct {
	path  string
	force bool

	mu   sync.Mutex
	file *os.File
	size int64 // bytes of whole, sealed items and the head
	last seal
	n    int
}

// partial is the name of a cassette that is still being written.
func partial(path string) string { return path + ".partial" }

// Create starts the cassette path as path.partial, and makes its directory if
// need be. meta.Version 0 means FormatVersion. A finished cassette of that name
// is fs.ErrExist without Force; an unfinished one always is, or ErrBusy while
// another process records it.
func Create(path string, meta Meta, opts CreateOptions) (*Writer, error) {
	if meta.Version == 0 {
		meta.Version = FormatVersion
	}
	if p := meta.problem(); p != "" {
		return nil, fail(path, ErrFormat, "%s", p)
	}
	if err := vacant(path, opts.Force); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // its files are 0600
		return nil, fail(path, err, "cannot be created (%s)", pathReason(err))
	}
	f, err := os.OpenFile(partial(path), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, cmp.Or(unlessBusy(path), fail(partial(path), fs.ErrExist, "an unfinished recording is in the way; run: recorder recover %s, or delete it", path))
	case err != nil:
		return nil, fail(path, err, "cannot be created (%s)", pathReason(err))
	}
	mark(f)
	w := &Writer{path: path, force: opts.Force, file: f}
	head := encodeHead(meta)
	w.last = sha256.Sum256(head)
	if err := w.write(head); err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

// unlessBusy reports as an error that the cassette path is being recorded now.
func unlessBusy(path string) error {
	f, err := os.OpenFile(partial(path), os.O_RDWR, 0)
	if err != nil {
		return nil // whoever opens it next says why
	}
	defer func() { _ = f.Close() }()
	if !mark(f) {
		return fail(partial(path), ErrBusy, "is being recorded by another process; wait until it ends or name another file")
	}
	return nil
}

// vacant reports as an error that path is taken and must not be replaced.
func vacant(path string, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return fail(path, fs.ErrExist, "exists; use --force to replace it")
	}
	return nil
}

// Append writes in, sealed and synced to disk, in time that does not depend on
// how many went before. Chunk times are kept in whole microseconds; request
// headers for which Reserved holds are left out. An interaction that cannot be
// stored truthfully is ErrInteraction and leaves the file as it was.
func (w *Writer) Append(in Interaction) error {
	item, err := encode(in)
	if err != nil {
		return fail(w.path, ErrInteraction, "interaction %d cannot be stored: %v", w.Len(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.last.next(item)
	if err := w.write(append(item, sealLine(w.n, len(item), s)...)); err != nil {
		return err
	}
	w.last, w.n = s, w.n+1
	return nil
}

// encode returns the item for in, having read it back.
func encode(in Interaction) ([]byte, error) {
	if err := checkTimeline(in.Timeline, len(in.Response.Body)); err != nil {
		return nil, err
	}
	item := appendItem(make([]byte, 0, len(in.Request.Body)+len(in.Response.Body)*9/8+4096), in)
	back, err := decode(item)
	if err != nil {
		return nil, err
	}
	if part := differs(in, back); part != "" {
		return nil, fmt.Errorf("its %s would change", part)
	}
	return item, nil
}

// write appends b and syncs. When it fails the file is cut back to what was
// whole before; when that fails, too, nothing more is written behind the piece.
func (w *Writer) write(b []byte) error {
	if w.file == nil {
		return w.closed()
	}
	_, err := w.file.WriteAt(b, w.size)
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		w.size += int64(len(b))
		return nil
	}
	if w.file.Truncate(w.size) != nil {
		_ = w.file.Close()
		w.file = nil
		return fail(w.path, err, "cannot be written any more (%s); run: recorder recover %s", pathReason(err), w.path)
	}
	return fail(w.path, err, "cannot be written (%s)", pathReason(err))
}

func (w *Writer) closed() error { return fail(w.path, fs.ErrClosed, "is closed for recording") }

// Len returns the number of interactions written.
func (w *Writer) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// Close writes the closing line, reads the file back, verifies every seal and
// gives the file its name. A recording without interactions is discarded with
// ErrEmpty. On any other error the .partial file stays for Recover.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil && w.n == 0 {
		return errors.Join(fail(w.path, ErrEmpty, "no interactions were recorded, nothing is saved"), w.discard())
	}
	if err := w.write([]byte(closeLine(w.n, w.last))); err != nil {
		return err
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return fail(w.path, err, "cannot be written (%s)", pathReason(err))
	}
	if err := Verify(partial(w.path)); err != nil {
		return err
	}
	if err := vacant(w.path, w.force); err != nil {
		return err
	}
	return rename(partial(w.path), w.path)
}

// rename gives a finished file its name, durably.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fail(to, err, "cannot be given its name, the recording is in %s (%s)", from, firstLine(err))
	}
	dir, err := os.Open(filepath.Dir(to))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return fail(to, err, "is saved, but its directory cannot be synced (%s)", pathReason(err))
	}
	return nil
}

// Discard deletes the unfinished file. A cassette that Force was to replace
// stays.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.discard()
}

func (w *Writer) discard() error {
	if w.file == nil {
		return w.closed()
	}
	err := errors.Join(w.file.Close(), os.Remove(partial(w.path)))
	w.file = nil
	if err != nil {
		return fail(w.path, err, "the unfinished recording cannot be deleted (%s)", firstLine(err))
	}
	return nil
}
