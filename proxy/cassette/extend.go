package cassette

import (
	"bytes"
	"errors"
	"os"
	"slices"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// ErrMixed is returned for interactions of another kind than those a cassette
// holds.
var ErrMixed = errors.New("cassette of another kind")

// Extend starts path.partial with all that the finished cassette path holds, to
// have more appended. Old items keep their bytes, seals and order, and the head
// stays: a cassette is as old as its oldest part, and what was lost to it stays
// lost. Until Close succeeds the
// finished file stays as it is. meta describes what will be appended; where its
// provenance, kind of times or redaction is not the cassette's own the error is ErrMixed: the
// head would no longer be true of every item. The cassette's matching stays. A
// damaged cassette is ErrDamaged, another tool's ErrUnsealed, one that is being
// recorded, or was until now, ErrBusy.
func Extend(path string, meta Meta) (*Writer, error) {
	old, err := Open(path)
	if err == nil {
		err = old.Verify()
	}
	if err == nil {
		err = old.meta.checkMixable(path, meta)
	}
	if err != nil {
		return nil, err
	}
	w, err := Create(path, old.meta, CreateOptions{Force: true})
	if err != nil {
		return nil, err
	}
	if err = old.checkUnchanged(path); err == nil {
		err = w.adoptItems(old)
	}
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

// checkUnchanged reports as an error that path is not c any more: another recorder
// may have finished it since c was opened.
func (c *Cassette) checkUnchanged(path string) error {
	now, err := os.ReadFile(path)
	switch {
	case err != nil:
		return newError(path, err, "cannot be read (%s)", firstLine(fileutil.Reason(err)))
	case !bytes.Equal(now, c.data):
		return newError(path, ErrBusy, "was recorded by another process just now; run this again")
	}
	return nil
}

// checkMixable reports as an error that what more describes cannot stand below m.
func (m Meta) checkMixable(path string, more Meta) error {
	switch {
	case more.Version != 0 && more.Version != m.Version:
		return newError(path, ErrMixed, "has format %d, what is recorded now has %d; record all of it again with: recorder refresh --cassette %s", m.Version, more.Version, path)
	case more.Provenance != m.Provenance:
		return newError(path, ErrMixed, "is %s and what is recorded now is %s, the two are not mixed; record to another file", m.Provenance, more.Provenance)
	case more.Nominal() != m.Nominal():
		return newError(path, ErrMixed, "has %s times and what is recorded now has %s ones, the two are not mixed; record to another file", m.timeKind(), more.timeKind())
	case len(more.Declared) > 0 && !slices.Equal(more.Declared, m.Declared):
		return newError(path, ErrMixed, "does not declare that its replies may be %s, and its head cannot change; record to another file", more.Declared[0])
	case !slices.Equal(more.Redaction, m.Redaction):
		return newError(path, ErrMixed, "was redacted by other rules than this build's; record all of it again with: recorder refresh --cassette %s", path)
	}
	return nil
}

// timeKind is what kind of times a cassette has.
func (m Meta) timeKind() string {
	if m.Nominal() {
		return "nominal"
	}
	return "measured"
}

// adoptItems writes old's head and sealed items in the place of the head.
func (w *Writer) adoptItems(old *Cassette) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := old.spans[len(old.spans)-1]
	w.size = 0
	if err := w.appendPieces(old.data[:end.end]); err != nil {
		return err
	}
	_, _, w.last, _ = readSeal(old.data[end.seal:end.end])
	w.count, w.loss = len(old.spans), old.end.Loss
	return nil
}

// extendsFinished reports whether the unfinished recording of path begins with all
// the interactions of the finished one, so that finishing it loses nothing.
func extendsFinished(path string) bool {
	old, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	_, end, ok := readClose(old)
	if !ok {
		return false
	}
	more, err := os.ReadFile(partialPath(path))
	return err == nil && bytes.HasPrefix(more, old[:end])
}

// Replaceable reports as an error that Rename would not put a cassette in the
// place of path: a folder or a link.
func Replaceable(path string) error { return checkVacant(path, true) }

// Rename gives the finished cassette from the name to, in the place of what has
// it, durably; from is verified first. On any error what was there stays; a link
// is fs.ErrExist.
func Rename(from, to string) error {
	if err := checkVacant(to, true); err != nil {
		return err
	}
	if err := Verify(from); err != nil {
		return err
	}
	return rename(from, to)
}
