package cassette

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// Revise lets Close process the whole recording once more before it gets its
// name. Close calls again. When that returns a function, every interaction is
// passed to it: its result replaces what was written, and an interaction with an
// error is left out. Other interactions keep their bytes. When some were left
// out the rest is saved all the same, and Close returns an error that wraps the
// first reason.
func (w *Writer) Revise(again func() func(Interaction) (Interaction, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newReviser = again
}

// reviseItems does what Revise asked for. left is why interactions were left
// out; err means that the file did not change.
func (w *Writer) reviseItems() (left, err error) {
	if w.newReviser == nil || w.file == nil || w.count == 0 {
		return nil, nil
	}
	revise := w.newReviser()
	if revise == nil {
		return nil, nil
	}
	data := make([]byte, w.size)
	if _, err := w.file.ReadAt(data, 0); err != nil {
		return nil, newError(w.path, err, "cannot be read back (%s)", firstLine(fileutil.Reason(err)))
	}
	was, err := Parse(partialPath(w.path), append(data, closeLine(w.count, w.last)...))
	if err != nil {
		return nil, err
	}
	items, left, changed, err := w.revisedItems(was, revise)
	if err != nil || !changed {
		return nil, err
	}
	w.loss.Lost += was.Len() - len(items)
	return left, w.rewriteFile(was.data[:was.head], items)
}

// revisedItems returns the items that the recording is to have.
func (w *Writer) revisedItems(was *Cassette, revise func(Interaction) (Interaction, error)) (items [][]byte, left error, changed bool, err error) {
	missing := 0
	for i := range was.Len() {
		in, err := was.At(i)
		if err != nil {
			return nil, nil, false, err
		}
		item := was.itemBytes(i)
		out, why := revise(in)
		switch {
		case why != nil:
			if missing++; left == nil {
				left = newError(w.path, why, "interaction %d is left out: %v", i, why)
			}
			continue
		case firstDifference(in, out) != "":
			changed = true
			if item, err = encodeItem(out); err != nil {
				return nil, nil, false, newError(w.path, ErrInteraction, "interaction %d cannot be stored: %v", i, err)
			}
		}
		items = append(items, item)
	}
	return items, left, changed || missing > 0, nil
}

// rewriteFile replaces the unfinished file by one with these items.
func (w *Writer) rewriteFile(head []byte, items [][]byte) error {
	f, err := os.CreateTemp(filepath.Dir(w.path), filepath.Base(w.path)+".*.partial")
	if err != nil {
		return newError(w.path, err, "cannot be written again (%s)", firstLine(fileutil.Reason(err)))
	}
	_ = fileutil.Lock(f) // a file system without locks records all the same
	next := &Writer{path: w.path, file: f, last: sha256.Sum256(head)}
	batch := make([]*entry, len(items))
	for i, item := range items {
		batch[i] = &entry{item: item}
	}
	if err = next.appendPieces(slices.Values([][]byte{head})); err == nil {
		err = next.sealEntries(batch)
	}
	if err == nil {
		err = next.syncNow()
	}
	if err == nil {
		err = rename(f.Name(), partialPath(w.path))
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	_ = w.file.Close()
	w.file, w.size, w.last, w.count = f, next.size, next.last, next.count
	return nil
}
