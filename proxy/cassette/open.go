package cassette

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// Open reads the cassette at path. A sealed file is only indexed: its
// interactions are verified and decoded when they are asked for, and those of a large
// file are read from the disk only then. The error is ErrBusy while its first recording
// continues, and ErrTorn when that was interrupted.
func Open(path string) (*Cassette, error) {
	if err := checkRegularFile(path); err != nil {
		return nil, err
	}
	if large, ok := openLarge(path); ok {
		c := &Cassette{name: path}
		if err := c.parseOurs(large); err != nil {
			return nil, err
		}
		return c, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, perr := os.Lstat(partialPath(path)); perr == nil {
			return nil, cmp.Or(unlessBusy(path), newError(path, ErrTorn, "was never finished; run: recorder recover %s", terminal.ShellWord(path)))
		}
	}
	return parseRead(path, data, err)
}

// OpenFS is Open for a file system.
func OpenFS(fsys fs.FS, name string) (*Cassette, error) {
	data, err := fs.ReadFile(fsys, name)
	return parseRead(name, data, err)
}

func parseRead(name string, data []byte, err error) (*Cassette, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, newError(name, fs.ErrNotExist, "does not exist; record it first with: recorder record --cassette %s", terminal.ShellWord(name))
	case err != nil:
		return nil, readError(name, err)
	}
	return Parse(name, data)
}

// Parse is Open for bytes. The cassette keeps data, which must not change. name is for
// errors.
func Parse(name string, data []byte) (*Cassette, error) {
	if len(data) == 0 {
		return nil, newError(name, ErrEmpty, "is empty; record it again")
	}
	c := &Cassette{name: name}
	var err error
	if isOurs(data) {
		err = c.parseOurs(content{memory: data, size: len(data)})
	} else {
		c.meta = Meta{Provenance: ProvenanceImport}
		if len(data) < largeForeign || !c.splitForeign(data) {
			c.parsed, err = parseForeign(name, data)
		}
		c.sum = sha256.Sum256(data)
	}
	if err == nil && c.Len() == 0 {
		err = newError(name, ErrEmpty, "holds no interactions; record it again")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cassette) parseOurs(data content) (err error) {
	if data.size < len(headStart) {
		return tornError(c.name)
	}
	if c.head, err = readHead(bufio.NewReaderSize(data.reader(), 4<<10)); err != nil {
		return readError(c.name, err)
	}
	var length int
	if c.meta, length, err = parseHead(c.name, c.head); err != nil {
		return err
	}
	c.data, c.head = data, c.head[:length]
	if c.close, _, err = data.readAround(data.size); err != nil {
		return readError(c.name, err)
	}
	c.spans, c.end, err = indexItems(c.name, data, c.head, c.close)
	return err
}

// checkRegularFile returns an error when path exists and is not a regular file. Other errors
// are left to the reading of the file.
func checkRegularFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return newError(path, ErrFormat, "cannot be read (is a directory); name a file in it")
	}
	if err == nil && !info.Mode().IsRegular() {
		return newError(path, ErrFormat, "cannot be read (is not a regular file); name a file")
	}
	return nil
}
