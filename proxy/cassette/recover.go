package cassette

import (
	"bytes"
	"crypto/sha256"
	"errors"
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
	data, err := os.ReadFile(source)
	if err != nil {
		_, err = parseRead(path, nil, err)
		return 0, err
	}
	lost := 0
	if source != path {
		lost = lostBefore(path) // the recording extends it
	}
	whole, kept, err := wholePart(source, data, lost)
	if err != nil || len(whole) == len(data) && source == path {
		return kept, err
	}
	return kept, replace(path, source, whole)
}

func vacantForRecover(path string) error {
	if err := checkVacant(path, false); err != nil && !extendsFinished(path) {
		return newError(path, fs.ErrExist, "exists; move it away, then recover %s again", partialPath(path))
	}
	return nil
}

// lostBefore returns how many interactions the finished cassette path had lost;
// 0 when there is none.
func lostBefore(path string) int {
	old, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	c, _, _ := readClose(old)
	return c.Lost
}

// wholePart returns the complete file that data is the beginning of. lost is
// what is known to be missing in addition.
func wholePart(name string, data []byte, lost int) (whole []byte, kept int, err error) {
	if c, err := Parse(name, data); err == nil {
		return data, c.Len(), unlessUnsealed(c.Verify())
	}
	if len(data) == 0 {
		return nil, 0, nothingWhole(name)
	}
	if !isOurs(data) {
		return nil, 0, notCassette(name, "its head is not ours")
	}
	_, head, err := parseHead(name, data)
	if errors.Is(err, ErrTorn) || len(data) < len(headStart) {
		return nil, 0, nothingWhole(name)
	}
	if err != nil {
		return nil, 0, err
	}
	end, kept, last := scanItems(data, head)
	if sealAhead(data[end:]) {
		return nil, kept, damagedError(name, "an interaction before the end")
	}
	if kept == 0 {
		return nil, 0, nothingWhole(name)
	}
	return append(bytes.Clone(data[:end]), closing{kept, Loss{lost, true}}.lineAfter(last)...), kept, nil
}

// sealAhead reports whether a complete seal line follows: then what precedes it
// is damaged and not torn off.
func sealAhead(rest []byte) bool {
	at := bytes.Index(rest, []byte("\n"+sealPrefix)) + 1
	return at > 0 && bytes.IndexByte(rest[at:], '\n') >= 0
}

func nothingWhole(name string) error {
	return newError(name, ErrEmpty, "holds no whole interaction; delete it and record again")
}

// unlessUnsealed ignores ErrUnsealed: in a file of another tool there is nothing
// to recover.
func unlessUnsealed(err error) error {
	if errors.Is(err, ErrUnsealed) {
		return nil
	}
	return err
}

// scanItems walks forward over complete items and returns where they end.
func scanItems(data []byte, head int) (end, count int, last seal) {
	end, last = head, sha256.Sum256(data[:head])
	for {
		at := bytes.Index(data[end:], []byte("\n"+sealPrefix)) + 1
		if at == 0 || !bytes.HasPrefix(data[end:], []byte(itemStart)) {
			return end, count, last
		}
		s := last.nextSeal(data[end : end+at])
		line := sealLine(count, at, s)
		if !bytes.HasPrefix(data[end+at:], []byte(line)) {
			return end, count, last
		}
		end, count, last = end+at+len(line), count+1, s
	}
}

// replace writes whole beside path, gives it that name and removes the source.
func replace(path, source string, whole []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".recovered-*")
	if err != nil {
		return newError(path, err, "cannot be written (%s)", firstLine(fileutil.Reason(err)))
	}
	_, err = f.Write(whole)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = Verify(f.Name())
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
