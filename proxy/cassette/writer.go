package cassette

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/terminal"
)

// CreateOptions says how Create treats existing files.
type CreateOptions struct {
	// Force lets Close replace a finished cassette of the same name. Until Close
	// succeeds the old one does not change.
	Force bool
}

// Writer records a cassette. Its methods are safe for concurrent use. After
// Close or Discard they return an error.
type Writer struct {
	path  string
	force bool

	mu         sync.Mutex
	file       journal
	size       int64       // bytes of whole, sealed items and the head
	syncTimer  *time.Timer // runs while something written is not synced
	syncErr    error       // why the disk may lack something that was written
	last       seal
	count      int
	joinBuffer []byte // scratch of writePieces
	newReviser func() (again func(Interaction) (Interaction, error), first int)
	adopted    int    // interactions of the cassette that is extended
	extends    string // the digest of that cassette
	loss       Loss
}

// journal is the part of *os.File that a Writer needs.
type journal interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// partialPath returns the name of a cassette that is still being written.
func partialPath(path string) string { return path + ".partial" }

// Create starts the cassette path as path.partial, and makes its directory if
// necessary. meta.Version 0 means FormatVersion. A finished cassette of that
// name is fs.ErrExist without Force; an unfinished one always is, or ErrBusy
// while another process records it.
func Create(path string, meta Meta, opts CreateOptions) (*Writer, error) {
	if meta.Version == 0 {
		meta.Version = FormatVersion
	}
	if p := meta.invalidReason(); p != "" {
		return nil, newError(path, ErrFormat, "%s", p)
	}
	if err := checkVacant(path, opts.Force); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // its files are 0600
		return nil, createError(path, err)
	}
	f, err := os.OpenFile(partialPath(path), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, cmp.Or(unlessBusy(path), newError(partialPath(path), fs.ErrExist,
			"an unfinished recording is in the way; run: recorder recover %s, or delete it", terminal.ShellWord(path)))
	case err != nil:
		return nil, createError(path, err)
	}
	_ = fileutil.Lock(f) // a file system without locks records all the same
	w := &Writer{path: path, force: opts.Force, file: f}
	head := encodeHead(meta)
	w.last = sha256.Sum256(head)
	if err := w.appendHead(head); err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

func createError(path string, err error) error {
	return newError(path, err, "cannot be created (%s); name a file in a folder where you may write",
		firstLine(fileutil.Reason(err)))
}

// appendHead appends what a new file begins with. The sync that it causes may run before
// the writer is first used.
func (w *Writer) appendHead(head []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.appendPieces(slices.Values([][]byte{head}))
}

// unlessBusy returns ErrBusy when the cassette path is being recorded.
func unlessBusy(path string) error {
	f, err := os.Open(partialPath(path))
	if err != nil {
		return nil // opening the file reports the reason
	}
	defer func() { _ = f.Close() }()
	if fileutil.IsLocked(f) {
		return newError(partialPath(path), ErrBusy,
			"is being recorded by another process; wait until it ends or name another file")
	}
	return nil
}

// checkVacant returns an error when path exists and must not be replaced.
func checkVacant(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return newError(path, fs.ErrExist, "is a folder; name a file in it") // at once, not when all is recorded
	case err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return newError(path, fs.ErrExist, "is not a regular file; name a file") // a device is not replaced
	case err == nil && force && info.Mode()&fs.ModeSymlink != 0:
		return linkError(path)
	case err == nil && !force:
		return newError(path, fs.ErrExist, "exists; use --force to replace it")
	}
	return nil
}

// linkError refuses to replace a link: its target would keep the old content
// unnoticed.
func linkError(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return newError(path, fs.ErrExist, "is a link to %s; name that file", target)
	}
	return newError(path, fs.ErrExist, "is a link that leads nowhere; delete it")
}

// Append writes in, sealed, in time that does not depend on how many were written
// before. When it returns, the end of this process does not lose in; the disk is
// synced within syncDelay, so a power failure may. A sync that fails is the error
// of the calls after it and of Close. Chunk
// times are kept in whole microseconds; request headers for which Reserved is true
// are left out. An interaction that cannot be stored truthfully is ErrInteraction
// and does not change the file.
func (w *Writer) Append(in Interaction) error { return w.AppendAll([]Interaction{in})[0] }

// AppendAll is Append for several interactions, in their order, with one write
// for all. It returns one error, or nil, for each. An interaction that cannot be
// stored does not affect the others.
func (w *Writer) AppendAll(ins []Interaction) []error {
	batch := make([]*entry, len(ins))
	var fit []*entry
	for i, in := range ins {
		e := newEntry(in)
		if e.err != nil {
			e.err = newError(w.path, ErrInteraction, "interaction %d cannot be stored: %v", w.Len()+len(fit), e.err)
		} else {
			fit = append(fit, e)
		}
		batch[i] = e
	}
	w.mu.Lock()
	defer w.mu.Unlock()

	// Write a batch. When the disk does not take all of it, each entry is tried separately, and those
	// that fit are kept.
	err := w.sealEntries(fit)
	for _, e := range fit {
		if err != nil && len(fit) > 1 {
			e.err = w.sealEntries([]*entry{e})
		} else {
			e.err = err
		}
	}
	errs := make([]error, len(ins))
	for i, e := range batch {
		errs[i] = e.err
	}
	return errs
}

// AppendLarge is Append for an interaction whose response has a body that is not to be in memory as a whole:
// UTF-8 of size bytes, which reply yields in windows. Each window is valid until the next one, ends with a
// line feed, unless it is the last, and begins with neither a blank nor a line feed. in has no such body.
func (w *Writer) AppendLarge(in Interaction, size int, reply iter.Seq2[[]byte, error]) error {
	e := &entry{}
	windows := func(yield func([]byte) bool) {
		for window, err := range reply {
			if e.err = err; err != nil || !yield(window) {
				return
			}
		}
	}
	part, err := changedPart(in, size)
	for range piecesWithReply(in, windows, pieceSize, &part) {
	}
	if err == nil && part != "" {
		err = fmt.Errorf("its %s would change", part)
	}
	if err = cmp.Or(err, e.err); err != nil {
		return newError(w.path, ErrInteraction, "interaction %d cannot be stored: %v", w.Len(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.pieces = piecesWithReply(in, windows, pieceSize, nil)
	return w.sealEntries([]*entry{e})
}

func (w *Writer) closedError() error {
	return newError(w.path, fs.ErrClosed, "is closed for recording")
}

// Len returns the number of interactions written.
func (w *Writer) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Close writes the closing line, reads the file back, verifies every seal and
// gives the file its name. A recording without interactions is discarded with
// ErrEmpty. On any other error the .partial file stays for Recover.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	left, err := w.reviseItems()
	if err != nil {
		return err
	}
	if w.file != nil && w.count == 0 {
		err := newError(w.path, ErrEmpty, "no interactions were recorded, nothing is saved")
		return errors.Join(cmp.Or(left, err), w.discard())
	}
	if err := w.finishFile(); err != nil {
		return err
	}
	return left
}

// finishFile closes the file, verifies it and gives it its name.
func (w *Writer) finishFile() error {
	if err := w.appendPieces(slices.Values([][]byte{[]byte(closing{w.count, w.loss}.lineAfter(w.last))})); err != nil {
		return err
	}
	if err := w.syncNow(); err != nil {
		return err
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return newError(w.path, err, "cannot be written (%s)", firstLine(fileutil.Reason(err)))
	}
	if err := verifyFile(partialPath(w.path)); err != nil {
		return err
	}
	if err := cmp.Or(checkVacant(w.path, w.force), w.checkStillExtends()); err != nil {
		return err
	}
	return rename(partialPath(w.path), w.path)
}

// rename gives a finished file its name, durably.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return newError(to, err, "cannot be given its name, the recording is in %s (%s)", from,
			firstLine(fileutil.Reason(err)))
	}
	if err := fileutil.SyncDir(filepath.Dir(to)); err != nil {
		return newError(to, err, "is saved, but its directory cannot be synced (%s)", firstLine(fileutil.Reason(err)))
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
		return w.closedError()
	}
	err := errors.Join(w.file.Close(), os.Remove(partialPath(w.path)))
	w.file = nil
	if err != nil {
		return newError(w.path, err, "the unfinished recording cannot be deleted (%s)", firstLine(fileutil.Reason(err)))
	}
	return nil
}

// entry is an item on its way into the file: the pieces of it, each valid until the next one, and why
// it is not in the file, which may turn out while the pieces are read.
type entry struct {
	pieces iter.Seq[[]byte]
	err    error
}

// newEntry returns the entry of an interaction, whose err is set when that cannot be stored. A small item
// is kept as it was encoded for that check, a large one is encoded again while it is written.
func newEntry(in Interaction) *entry {
	var item []byte
	part, err := changedPart(in, len(in.Response.Body))
	isSmall := len(in.Request.Body)+len(in.Response.Body) <= pieceSize
	if isSmall {
		item = make([]byte, 0, 4096+2*(len(in.Request.Body)+len(in.Response.Body)+len(in.Timeline)))
	}
	for piece := range itemPieces(in, pieceSize, &part) {
		if isSmall {
			item = append(item, piece...)
		}
	}
	switch {
	case err != nil:
		return &entry{err: err}
	case part != "":
		return &entry{err: fmt.Errorf("its %s would change", part)}
	case isSmall:
		return writtenEntry(item)
	}
	return &entry{pieces: itemPieces(in, pieceSize, nil)}
}

// writtenEntry returns the entry of an item that is written already.
func writtenEntry(item []byte) *entry { return &entry{pieces: slices.Values([][]byte{item})} }

// sealEntries writes the entries with their seals.
func (w *Writer) sealEntries(batch []*entry) error {
	last, n, size := w.last, w.count, w.size
	err := w.appendPieces(func(yield func([]byte) bool) {
		for _, e := range batch {
			h, size := last.newHash(), 0
			for piece := range e.pieces {
				_, _ = h.Write(piece)
				if size += len(piece); !yield(piece) {
					return
				}
			}
			last = seal(h.Sum(nil))
			if !yield([]byte(sealLine(n, size, last))) {
				return
			}
			n++
		}
	})
	if err != nil {
		return err
	}
	for _, e := range batch {
		if e.err != nil {
			w.size = size // the next item overwrites this one
			return errors.Join(e.err, w.file.Truncate(size))
		}
	}
	w.last, w.count = last, n
	return nil
}

// appendPieces appends pieces, to be synced soon. A piece may change after the next one
// was asked for. On failure it truncates the file to what was complete before; when that
// fails too, nothing more is written.
func (w *Writer) appendPieces(pieces iter.Seq[[]byte]) error {
	if w.file == nil {
		return w.closedError()
	}
	if w.syncErr != nil {
		return w.brokenError(w.syncErr)
	}
	end, err := w.writePieces(pieces)
	if err == nil {
		w.size = end
		w.syncSoon()
		return nil
	}
	if w.file.Truncate(w.size) != nil {
		_ = w.file.Close()
		w.file = nil
		return w.brokenError(err)
	}
	return newError(w.path, err, "cannot be written (%s)", firstLine(fileutil.Reason(err)))
}

func (w *Writer) brokenError(err error) error {
	return newError(w.path, err,
		"cannot be written any more (%s); run: recorder recover %s", firstLine(fileutil.Reason(err)),
		terminal.ShellWord(w.path))
}

// syncDelay is the longest time for which what was written may be missing on the
// disk. Syncing less often leaves more of the disk to others.
const syncDelay = 100 * time.Millisecond

// syncSoon makes sure that what was written is synced within syncDelay.
func (w *Writer) syncSoon() {
	if w.syncTimer == nil {
		w.syncTimer = time.AfterFunc(syncDelay, w.syncWritten)
	}
}

// syncWritten syncs without keeping others from writing.
func (w *Writer) syncWritten() {
	w.mu.Lock()
	w.syncTimer = nil // what is written from now on needs another sync
	file := w.file
	w.mu.Unlock()
	if file == nil {
		return
	}
	err := file.Sync()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && file == w.file {
		w.syncErr = err
	}
}

// syncNow syncs and ends the waiting for a sync.
func (w *Writer) syncNow() error {
	if w.syncTimer != nil {
		w.syncTimer.Stop()
		w.syncTimer = nil
	}
	if w.syncErr == nil {
		w.syncErr = w.file.Sync()
	}
	if w.syncErr != nil {
		return w.brokenError(w.syncErr)
	}
	return nil
}

// writePieces writes pieces after the complete part and returns where they end.
// Small pieces are joined, large ones are not copied.
func (w *Writer) writePieces(pieces iter.Seq[[]byte]) (end int64, err error) {
	end = w.size
	flush := func(b []byte) {
		if len(b) > 0 && err == nil {
			_, err = w.file.WriteAt(b, end)
			end += int64(len(b))
		}
	}
	w.joinBuffer = w.joinBuffer[:0]
	for b := range pieces {
		if len(b) < joined {
			w.joinBuffer = append(w.joinBuffer, b...)
		}
		if len(b) >= joined || len(w.joinBuffer) >= joined {
			flush(w.joinBuffer)
			w.joinBuffer = w.joinBuffer[:0]
		}
		if len(b) >= joined {
			flush(b)
		}
		if err != nil {
			return end, err
		}
	}
	flush(w.joinBuffer)
	return end, err
}

// joined is the size from which a piece is written separately, in bytes.
const joined = 256 << 10
