package cassette

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// scanned is what a file of this package holds, up to its first fault.
type scanned struct {
	count     int
	last      seal  // of the last whole item, or of the head
	end       int64 // where the last whole item ends
	closed    bool  // the closing line follows, and nothing else
	hasTail   bool  // the closing line follows, and something else
	isDamaged bool  // a seal follows that is not right: bytes before it have changed
}

// largeItem is the size, in bytes, above which an item of a file that was just written is checked by its
// seal alone.
const largeItem = 4 << 20

// scan reads a file of this package in little memory, however long it and its items
// are. check, which may be nil, looks at each item but the large ones. The error is that
// of the head or of reading.
func scan(name string, r io.Reader, check func(item []byte) error) (s scanned, err error) {
	if check == nil {
		return scanItems(name, r, 0, nil)
	}
	return scanItems(name, r, largeItem, func(_ scanned, item []byte) error { return check(item) })
}

// scanItems is scan with the length of the longest item that visit looks at. visit gets
// what was read before the item, which is valid until visit returns; its error ends the
// reading, as damage does.
func scanItems(name string, r io.Reader, longest int, visit func(before scanned, item []byte) error) (s scanned, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	head, err := readHead(lines)
	if err != nil {
		return s, readError(name, err)
	}
	if _, _, err := parseHead(name, head); err != nil {
		return s, err
	}
	s.last, s.end = sha256.Sum256(head), int64(len(head))
	for item := s.beginItem(longest, visit, nil); ; {
		piece, err := lines.ReadSlice('\n') // the line, or as much of it as the buffer holds
		beginsLine := item.endsLine
		switch {
		case errors.Is(err, io.EOF):
			return s, nil // the last line is torn, or there is none
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return s, readError(name, err)
		case beginsLine && bytes.HasPrefix(piece, []byte(sealPrefix)):
			if s.isDamaged = !s.addItem(item, piece); s.isDamaged {
				return s, nil
			}
			item = s.beginItem(longest, visit, item.kept)
		case item.size == 0 && bytes.HasPrefix(piece, []byte(closePrefix)):
			c, _, ok := readClose(piece)
			_, err := lines.Peek(1)
			isClosing := ok && c.count == s.count && c.lineAfter(s.last) == string(piece)
			s.closed, s.hasTail = isClosing && err == io.EOF, isClosing && err == nil
			return s, nil
		default:
			item.addPiece(piece)
		}
	}
}

// scannedItem is an item of which a part was read.
type scannedItem struct {
	hash     hash.Hash // of the seal
	size     int
	isItem   bool // it begins as every item does
	endsLine bool
	visit    func(before scanned, item []byte) error // nil: it need not be kept
	longest  int
	kept     []byte
}

// beginItem returns an item of which nothing was read. It is kept in room.
func (s *scanned) beginItem(longest int, visit func(scanned, []byte) error, room []byte) *scannedItem {
	return &scannedItem{hash: s.last.newHash(), endsLine: true, visit: visit, longest: longest, kept: room[:0]}
}

// addPiece adds a line or a part of one.
func (item *scannedItem) addPiece(piece []byte) {
	if item.size == 0 {
		item.isItem = string(piece) == itemStart
	}
	_, _ = item.hash.Write(piece)
	item.size += len(piece)
	item.endsLine = bytes.HasSuffix(piece, []byte("\n"))
	if item.size > item.longest {
		item.visit, item.kept = nil, nil
	}
	if item.visit != nil {
		item.kept = append(item.kept, piece...)
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
func (s *scanned) addItem(item *scannedItem, line []byte) bool {
	next := seal(item.hash.Sum(nil))
	if !item.isItem || string(line) != sealLine(s.count, item.size, next) || item.visit != nil && item.visit(*s, item.kept) != nil {
		return false
	}
	s.count, s.last, s.end = s.count+1, next, s.end+int64(item.size+len(line))
	return true
}

// verifyFile is Verify for a file that a Writer has just written, in little memory. A
// large item is checked by its seal alone: the Writer has read it back.
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
		return damagedAt(path, s.count)
	case !s.closed:
		return tornError(path)
	}
	return nil
}

// readError is the error for a file that cannot be read. Where more was there before, somebody
// has shortened it.
func readError(name string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return newError(name, ErrDamaged, "was made shorter while it was read; restore the file from a copy or record it again")
	}
	return newError(name, err, "cannot be read (%s); check the path and its permissions", firstLine(fileutil.Reason(err)))
}
