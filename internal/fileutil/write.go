package fileutil

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path by one that holds data and has the mode
// perm. It writes a temporary file in the same folder, syncs it and renames it, so
// other processes and a later start after a crash see the old content or the new,
// never a part. On an error the old file is unchanged. A device or a pipe at path
// is written to, not replaced.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return writeInPlace(path, data)
	}
	return placeFile(path, data, perm, os.Rename)
}

func writeInPlace(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// CreateFile is [WriteFile] for a path that must not exist yet: when it does, the
// error is [fs.ErrExist] and the file stays as it is. Of several processes that
// call it at once, exactly one succeeds.
func CreateFile(path string, data []byte, perm fs.FileMode) error {
	return placeFile(path, data, perm, os.Link)
}

// placeFile writes a temporary file and gives it its name by place: os.Rename
// replaces an existing file, os.Link refuses to.
func placeFile(path string, data []byte, perm fs.FileMode, place func(from, to string) error) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // gone already after a rename
	if err := fillFile(temporary, data, perm); err != nil {
		return err
	}
	if err := place(temporary.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// diskFile is the part of *os.File that fillFile uses, so that a test can fill the
// disk.
type diskFile interface {
	Write(data []byte) (int, error)
	Chmod(perm fs.FileMode) error
	Sync() error
	Close() error
}

// fillFile writes, syncs and closes a new file of mode 0600.
func fillFile(f diskFile, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil && perm != 0o600 {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Draft is a file that is written piece by piece and takes its place when it is whole. It stands
// in the same folder until then.
type Draft struct {
	*bufio.Writer
	file    *os.File
	path    string
	inPlace bool
}

// NewDraft begins what is to be the file at path, with mode 0600. A device or a pipe at path is
// written to at once.
func NewDraft(path string) (d *Draft, err error) {
	d = &Draft{path: path}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		d.inPlace = true
	}
	if d.inPlace {
		d.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	} else {
		d.file, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	}
	d.Writer = bufio.NewWriterSize(d.file, 1<<16)
	return d, err
}

// Close gives the file its name if it is whole. Else, or on an error, the old content stays and
// nothing is left behind.
func (d *Draft) Close(isWhole bool) error {
	var err error
	if isWhole {
		err = d.Flush()
	}
	if d.inPlace {
		return errors.Join(err, d.file.Close())
	}
	if err = errors.Join(err, fillFile(d.file, nil, 0o600)); isWhole && err == nil {
		if err = os.Rename(d.file.Name(), d.path); err == nil {
			return SyncDir(filepath.Dir(d.path))
		}
	}
	return errors.Join(err, os.Remove(d.file.Name()))
}
