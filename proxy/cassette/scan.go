package cassette

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// scanned is what a file of this package holds, up to its first fault.
type scanned struct {
	count     int
	last      seal  // of the last whole item, or of the head
	end       int64 // where the last whole item ends
	closed    bool  // the closing line follows, and nothing else
	isDamaged bool  // a seal follows that is not right: bytes before it have changed
}

// scan reads a file of this package in the memory of one item, however long it is.
// check, which may be nil, looks at each item. The error is that of the head or of
// reading.
func scan(name string, r io.Reader, check func(item []byte) error) (s scanned, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	head, err := readHead(lines)
	if err != nil {
		return s, readError(name, err)
	}
	if _, _, err := parseHead(name, head); err != nil {
		return s, err
	}
	s.last, s.end = sha256.Sum256(head), int64(len(head))
	for item := []byte(nil); ; {
		start := len(item)
		if item, err = appendLine(item, lines); errors.Is(err, io.EOF) {
			return s, nil // the last line is torn, or there is none
		}
		if err != nil {
			return s, readError(name, err)
		}
		line := item[start:]
		switch {
		case bytes.HasPrefix(line, []byte(sealPrefix)):
			if s.isDamaged = check != nil && check(item[:start]) != nil || !s.addItem(item[:start], line); s.isDamaged {
				return s, nil
			}
			item = item[:0]
		case start == 0 && bytes.HasPrefix(line, []byte(closePrefix)):
			c, _, ok := readClose(line)
			_, err := lines.Peek(1)
			s.closed = ok && c.count == s.count && c.lineAfter(s.last) == string(line) && err == io.EOF
			return s, nil
		}
	}
}

// readHead reads to the line that begins the items, or as much as a head may be.
func readHead(lines *bufio.Reader) (head []byte, err error) {
	const longest = 1 << 20
	for len(head) < longest && !bytes.HasSuffix(head, []byte(headEnd)) && err == nil {
		head, err = appendLine(head, lines)
	}
	if errors.Is(err, io.EOF) {
		err = nil // parseHead says what is missing
	}
	return head, err
}

// appendLine appends a line of any length.
func appendLine(dst []byte, lines *bufio.Reader) ([]byte, error) {
	for {
		piece, err := lines.ReadSlice('\n')
		if dst = append(dst, piece...); !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
}

// addItem adds an item with its seal line, and reports whether both are right.
func (s *scanned) addItem(item, line []byte) bool {
	next := s.last.nextSeal(item)
	if !bytes.HasPrefix(item, []byte(itemStart)) || string(line) != sealLine(s.count, len(item), next) {
		return false
	}
	s.count, s.last, s.end = s.count+1, next, s.end+int64(len(item)+len(line))
	return true
}

// verifyFile is Verify for a sealed file, in the memory of one item.
func verifyFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return readError(path, err)
	}
	defer func() { _ = f.Close() }()
	s, err := scan(path, f, func(item []byte) error {
		_, err := decodeAnyItem(item)
		return err
	})
	switch {
	case err != nil:
		return err
	case s.isDamaged:
		return damagedError(path, "interaction "+strconv.Itoa(s.count))
	case !s.closed:
		return tornError(path)
	}
	return nil
}

func readError(name string, err error) error {
	return newError(name, err, "cannot be read (%s)", firstLine(fileutil.Reason(err)))
}
