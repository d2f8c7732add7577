package cassette

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// Recover finishes the interrupted recording path: it keeps every complete
// interaction, drops the incomplete rest, and gives the file its name. What was
// open at the interruption is missing, and the closing line says so
// (Loss.Recovered). path may be the cassette's name or that of its .partial
// file. Nothing is lost: a finished cassette of the same name is fs.ErrExist
// unless the recording began with all of it, and a recording that continues is
// ErrBusy. When bytes before the end are damaged, and not only missing, nothing
// is changed and the error is ErrDamaged.
func Recover(path string) (kept int, err error) {
	path = strings.TrimSuffix(path, ".partial")
	source := partialPath(path)
	if _, err := os.Lstat(source); errors.Is(err, fs.ErrNotExist) {
		source = path // a finished file that lost its end
	} else if err := vacantForRecover(path); err != nil {
		return 0, err
	}
	if err := unlessBusy(path); err != nil {
		return 0, err
	}
	if err := checkRegularFile(source); err != nil {
		return 0, err
	}
	f, err := os.Open(source)
	if err != nil {
		_, err = parseRead(path, nil, err)
		return 0, err
	}
	whole, err := wholePart(source, f)
	_ = f.Close()
	switch {
	case whole.isForeign:
		c, err := Open(source)
		if err != nil {
			return 0, notCassette(source, "its head is not ours")
		}
		return c.Len(), nil
	case err != nil || whole.closed && source == path:
		return whole.count, err
	}
	lost := 0
	if source != path {
		// The finished cassette may have lost interactions before.
		c, _, _ := closingOf(path)
		lost = c.Lost // the recording extends it
	}
	return whole.count, replace(path, source, whole, Loss{lost, true})
}

func vacantForRecover(path string) error {
	if err := checkVacant(path, false); err != nil && !extendsFinished(path) {
		return newError(path, fs.ErrExist, "exists; move it away, then recover %s again", partialPath(path))
	}
	return nil
}

// closingOf reads the closing line of a file and where it starts.
func closingOf(path string) (c closing, start int64, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return c, 0, false
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return c, 0, false
	}
	tail := make([]byte, min(size, 4096)) // the line is short
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return c, 0, false
	}
	c, at, ok := readClose(tail)
	return c, size - int64(len(tail)-at), ok
}

// LossIn returns what the closing line of the cassette at path says, without reading
// the rest. A file of another tool says nothing.
func LossIn(path string) (Loss, error) {
	if _, err := os.Stat(path); err != nil {
		return Loss{}, readError(path, err)
	}
	c, _, _ := closingOf(path)
	return c.Loss, nil
}

// recoverable is the part of a file that is whole.
type recoverable struct {
	scanned
	isForeign bool // another tool's, in which there is nothing to recover
}

// wholePart finds out what of a file is whole.
func wholePart(name string, r io.Reader) (whole recoverable, err error) {
	begin := make([]byte, len(headStart))
	n, err := io.ReadFull(r, begin)
	switch begin = begin[:n]; {
	case n > 0 && !isOurs(begin):
		return recoverable{isForeign: true}, nil
	case err != nil:
		return whole, nothingWhole(name) // not even the beginning
	}
	whole.scanned, err = scan(name, io.MultiReader(bytes.NewReader(begin), r), nil)
	switch {
	case errors.Is(err, ErrTorn):
		return whole, nothingWhole(name)
	case err != nil:
		return whole, err
	case whole.hasTail:
		return whole, tailError(name)
	case whole.isDamaged:
		return whole, damagedAt(name, whole.count)
	case whole.count == 0:
		return whole, nothingWhole(name)
	}
	return whole, nil
}

func nothingWhole(name string) error {
	return newError(name, ErrEmpty, "holds no whole interaction; delete it and record again")
}

// replace writes the whole part of source beside path, gives it that name and removes
// source.
func replace(path, source string, whole recoverable, loss Loss) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".recovered-*")
	if err != nil {
		return newError(path, err, "cannot be written (%s)", firstLine(fileutil.Reason(err)))
	}
	if err = errors.Join(whole.copyTo(f, source, loss), f.Sync(), f.Close()); err == nil {
		err = verifyFile(f.Name())
	}
	if err != nil {
		return errors.Join(newError(path, err, "cannot be written (%s)", firstLine(err)), os.Remove(f.Name()))
	}
	if err := rename(f.Name(), path); err != nil || source == path {
		return err
	}
	if err := os.Remove(source); err != nil {
		return newError(source, err, "is recovered and can be deleted (%s)", firstLine(fileutil.Reason(err)))
	}
	return nil
}

// copyTo writes the whole part with its closing line.
func (whole recoverable) copyTo(w io.Writer, source string, loss Loss) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if whole.closed {
		_, err = io.Copy(w, from)
		return err
	}
	if _, err = io.CopyN(w, from, whole.end); err == nil {
		_, err = io.WriteString(w, closing{whole.count, loss}.lineAfter(whole.last))
	}
	return err
}
