package cassette

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// Extend starts path.partial with everything in the finished cassette path, so
// that more can be appended. Old items keep their bytes, seals and order, and
// the head stays: a cassette is as old as its oldest part, and its losses
// remain. Until Close succeeds the finished file does not change. meta describes
// what will be appended. When its provenance, kind of times or redaction differs
// from the cassette's the error is ErrMixed, because the head would no longer be
// true for every item. The cassette's matching stays. The error is ErrDamaged
// for a damaged cassette, ErrUnsealed for another tool's, and ErrBusy for one
// that is being recorded or was finished during the call.
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

// checkUnchanged returns an error when path no longer contains c: another
// recorder may have finished it since c was opened.
func (c *Cassette) checkUnchanged(path string) error {
	now, err := os.Open(path)
	if err != nil {
		return readError(path, err)
	}
	defer func() { _ = now.Close() }()
	if info, err := now.Stat(); err != nil || info.Size() != int64(c.data.size) ||
		!haveSameBeginning(now, c.data.reader(), info.Size()) {
		return newError(path, ErrBusy, "was recorded by another process just now; run this again")
	}
	return nil
}

// checkMixable returns an error when interactions described by more cannot be
// added below m.
func (m Meta) checkMixable(path string, more Meta) error {
	switch {
	case more.Version != 0 && more.Version != m.Version:
		return newError(path, ErrMixed,
			"has format %d, what is recorded now has %d; record all of it again with: recorder refresh --cassette %s",
			m.Version, more.Version, terminal.ShellWord(path))
	case more.Provenance != m.Provenance:
		return newError(path, ErrMixed,
			"is %s and what is recorded now is %s, the two are not mixed; record to another file", m.Provenance,
			more.Provenance)
	case more.Nominal() != m.Nominal():
		return newError(path, ErrMixed,
			"has %s times and what is recorded now has %s ones, the two are not mixed; record to another file",
			m.timeKind(), more.timeKind())
	case len(more.Declared) > 0 && !slices.Equal(more.Declared, m.Declared):
		return newError(path, ErrMixed,
			"does not declare that its replies may be %s, and its head cannot change; record to another file",
			more.Declared[0])
	case !slices.Equal(more.Redaction, m.Redaction):
		return newError(path, ErrMixed,
			"was redacted by other rules than this build's; record all of it again with: recorder refresh --cassette %s", terminal.ShellWord(path))
	}
	return nil
}

// timeKind names the kind of times in a cassette.
func (m Meta) timeKind() string {
	if m.Nominal() {
		return "nominal"
	}
	return "measured"
}

// adoptItems replaces the head that was written by old's head and sealed items.
func (w *Writer) adoptItems(old *Cassette) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := old.spans[len(old.spans)-1]
	w.size = 0
	var fault error
	if err := w.appendPieces(old.data.pieces(end.end, &fault)); err != nil {
		return err
	}
	line, err := old.data.readBytes(end.seal, end.end)
	if err = cmp.Or(fault, err); err != nil {
		return readError(old.name, err)
	}
	_, _, w.last, _ = readSeal(line)
	w.count, w.adopted, w.loss, w.extends = len(old.spans), len(old.spans), old.end.Loss, old.Digest()
	return nil
}

// checkStillExtends returns an error when the cassette that is extended was replaced by another:
// what that holds would be lost. Where it is gone, nothing is.
func (w *Writer) checkStillExtends() error {
	if _, err := os.Lstat(w.path); w.extends == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if now, err := Open(w.path); err != nil || now.Digest() != w.extends {
		return newError(w.path, fs.ErrExist,
			"was replaced by another process meanwhile and stays so; what was recorded is in %s", partialPath(w.path))
	}
	return nil
}

// extendsFinished reports whether the unfinished recording of path begins with
// all interactions of the finished one, so that finishing it loses nothing.
func extendsFinished(path string) bool {
	_, end, ok := closingOf(path)
	if !ok {
		return false
	}
	old, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = old.Close() }()
	more, err := os.Open(partialPath(path))
	if err != nil {
		return false
	}
	defer func() { _ = more.Close() }()
	return haveSameBeginning(old, more, end)
}

// haveSameBeginning reports whether the first n bytes of a and b are equal.
func haveSameBeginning(a, b io.Reader, n int64) bool {
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for n > 0 {
		size := min(n, int64(len(bufA)))
		_, errA := io.ReadFull(a, bufA[:size])
		_, errB := io.ReadFull(b, bufB[:size])
		if errA != nil || errB != nil || !bytes.Equal(bufA[:size], bufB[:size]) {
			return false
		}
		n -= size
	}
	return true
}

// Replaceable returns an error when Rename would not replace path: it is a
// folder or a link, or ErrBusy, it is being recorded.
func Replaceable(path string) error { return cmp.Or(checkVacant(path, true), unlessBusy(path)) }

// Rename renames the finished cassette from to to, durably, and replaces what is
// there. It verifies from first. On any error the old file stays; see [Replaceable].
func Rename(from, to string) error {
	if err := Replaceable(to); err != nil {
		return err
	}
	if err := Verify(from); err != nil {
		return err
	}
	return rename(from, to)
}
