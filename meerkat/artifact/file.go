package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// A file of an artifact is a header of headerSize bytes, a line of JSON filled up with
// spaces, and the content. The size of the header never changes, so that the size of the
// content is known without reading it.
const headerSize = 512

type header struct {
	Ref
	// Checksum is the CRC-32C of the header with an empty checksum, and of the content.
	Checksum string `json:"crc32c"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h header) encodeLine() ([]byte, error) {
	line, err := json.Marshal(h)
	if err == nil && len(line) >= headerSize {
		err = fmt.Errorf("artifact %s: its description is longer than %d bytes", h.ID, headerSize)
	}
	if err != nil {
		return nil, err
	}
	return append(append(line, bytes.Repeat([]byte{' '}, headerSize-1-len(line))...), '\n'), nil
}

func sumFile(line, data []byte) string {
	return fmt.Sprintf("%08x", crc32.Update(crc32.Checksum(line, castagnoli), castagnoli, data))
}

// readRef reads the description of an artifact. The content is not checked.
func readRef(path string, id ID) (Ref, error) {
	f, h, err := openFile(path, id)
	if err != nil {
		return Ref{}, err
	}
	return h.Ref, f.Close()
}

// readFile reads an artifact.
func readFile(path string, id ID) ([]byte, Ref, error) {
	f, h, err := openFile(path, id)
	if err != nil {
		return nil, Ref{}, err
	}
	defer func() { _ = f.Close() }() // only read
	data := make([]byte, h.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, Ref{}, storageError(path, err)
	}
	want := h.Checksum
	h.Checksum = ""
	line, err := h.encodeLine()
	if err != nil || sumFile(line, data) != want {
		return nil, Ref{}, damagedError(id)
	}
	return data, h.Ref, nil
}

// openFile opens the file of an artifact and reads its header, so that the content
// follows, of the size that the header says.
func openFile(path string, id ID) (*os.File, header, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, header{}, notFound(id)
	}
	if err != nil {
		return nil, header{}, storageError(path, err)
	}
	h, err := readHeader(f, id)
	if err != nil {
		_ = f.Close() // only read
		return nil, header{}, err
	}
	return f, h, nil
}

func readHeader(f *os.File, id ID) (h header, err error) {
	var line [headerSize]byte
	_, err = io.ReadFull(f, line[:])
	if err == nil {
		err = json.Unmarshal(line[:], &h)
	}
	info, serr := f.Stat()
	switch {
	case err == nil && h.Version > Version:
		return h, &VersionError{ID: id, Have: h.Version}
	case err != nil, serr != nil, h.ID != id, h.Session != id.Session(), info.Size() != headerSize+h.Size:
		return h, damagedError(id)
	}
	return h, nil
}

func damagedError(id ID) error { return fmt.Errorf("artifact %s: %w", id, ErrDamaged) }

// readFolder lists a folder; one that does not exist is empty.
func readFolder(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, storageError(dir, err)
}

// storageError names the file of an error, and says what to do. Nil stays nil.
func storageError(path string, err error) error {
	if err == nil {
		return nil
	}
	return &session.StorageError{Err: fmt.Errorf("artifact folder %s: %w", path, fileutil.Reason(err))}
}
