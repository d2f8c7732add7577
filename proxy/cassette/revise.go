package cassette

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// Revise lets Close process a recording once more before it gets its name. Close calls
// begin. When that returns a function, the first interactions that were appended, as many as
// it says, and all of a cassette that is extended are passed to it: its result replaces
// what was written, and an interaction with an error is left out. Other interactions keep
// their bytes. When some were left out the rest is saved all the same, and Close returns an
// error that wraps the first reason. One interaction at a time is in memory.
func (w *Writer) Revise(begin func() (again func(Interaction) (Interaction, error), first int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newReviser = begin
}

// reviseItems does what Revise asked for. left is why interactions were left
// out; err means that the file did not change.
func (w *Writer) reviseItems() (left, err error) {
	if w.newReviser == nil || w.file == nil || w.count == 0 {
		return nil, nil
	}
	again, first := w.newReviser()
	if again == nil {
		return nil, nil
	}
	r := revision{from: w, revise: again, until: w.adopted + first}
	defer r.release()
	if err := r.run(); err != nil {
		return nil, errors.Join(err, r.discard())
	}
	if r.to == nil {
		return nil, nil
	}
	if err := r.finish(); err != nil {
		return nil, errors.Join(err, r.discard())
	}
	return r.left, nil
}

// revision writes the interactions of a recording anew, one at a time, from the first one
// that changes. What is before it keeps its bytes and its seals.
type revision struct {
	from   *Writer
	revise func(Interaction) (Interaction, error)
	until  int      // the index of the first interaction that is not revised
	to     *Writer  // of the new file, nil until something changes; its lock is held
	file   *os.File // its file
	left   error    // why the first interaction was left out
	lost   int      // how many were left out
	failed error    // of reviseItem
}

// run revises every interaction.
func (r *revision) run() error {
	name := partialPath(r.from.path)
	s, err := scanItems(name, io.NewSectionReader(r.from.file, 0, r.from.size), math.MaxInt,
		func(before scanned, item []byte) error {
			r.failed = r.reviseItem(before, item)
			return r.failed
		})
	switch {
	case errors.Is(r.failed, errAllStay):
		return nil
	case r.failed != nil:
		return r.failed
	case err != nil:
		return err
	case s.isDamaged || s.count != r.from.count:
		return damagedAt(name, s.count)
	}
	return nil
}

// errAllStay ends the reading when no further interaction can change.
var errAllStay = errors.New("the rest stays")

// reviseItem revises one interaction.
func (r *revision) reviseItem(before scanned, item []byte) error {
	switch isStaying := before.count >= r.until; {
	case isStaying && r.to == nil:
		return errAllStay
	case isStaying:
		return r.to.sealEntries([]*entry{writtenEntry(item)})
	}
	in, err := decodeAnyItem(item)
	if err != nil {
		return damagedAt(partialPath(r.from.path), before.count)
	}
	out, why := r.revise(in)
	switch {
	case why != nil:
		if r.lost++; r.left == nil {
			r.left = newError(r.from.path, why, "interaction %d is left out: %v", before.count, why)
		}
		return r.begin(before)
	case firstDifference(in, out) != "":
		e := newEntry(out)
		if e.err != nil {
			return newError(r.from.path, ErrInteraction, "interaction %d cannot be stored: %v", before.count, e.err)
		}
		if err := r.begin(before); err != nil {
			return err
		}
		return r.to.sealEntries([]*entry{e})
	case r.to != nil:
		return r.to.sealEntries([]*entry{writtenEntry(item)})
	}
	return nil
}

// begin makes the new file, with what stands before the first interaction that changes.
func (r *revision) begin(before scanned) error {
	if r.to != nil {
		return nil
	}
	path := r.from.path
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial")
	if err != nil {
		return newError(path, err, "cannot be written again (%s)", firstLine(fileutil.Reason(err)))
	}
	_ = fileutil.Lock(f) // a file system without locks records all the same
	r.file = f
	r.to = &Writer{path: path, file: f, last: before.last, count: before.count, size: before.end}
	r.to.mu.Lock()
	if _, err := io.Copy(f, io.NewSectionReader(r.from.file, 0, before.end)); err != nil {
		return newError(path, err, "cannot be written again (%s)", firstLine(fileutil.Reason(err)))
	}
	return nil
}

// finish replaces the unfinished file by the new one.
func (r *revision) finish() error {
	if err := r.to.syncNow(); err != nil {
		return err
	}
	w := r.from
	if err := rename(r.file.Name(), partialPath(w.path)); err != nil {
		return err
	}
	_ = w.file.Close()
	w.file, w.size, w.last, w.count = r.file, r.to.size, r.to.last, r.to.count
	w.loss.Lost += r.lost
	return nil
}

// release ends the new Writer. Its file belongs to the old one, or is removed.
func (r *revision) release() {
	if r.to != nil {
		r.to.file = nil
		r.to.mu.Unlock()
	}
}

// discard removes the new file, if there is one.
func (r *revision) discard() error {
	if r.file == nil {
		return nil
	}
	return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
}
