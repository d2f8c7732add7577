package cassette

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/terminal"
)

// seal is the SHA-256 of the seal before it and the item's bytes; the first one
// starts from the hash of the head. So no item can change, move or vanish
// without an invalid seal, except at the end: the closing line counts the items.
type seal [sha256.Size]byte

const (
	sealPrefix  = "      # sealed "
	closePrefix = "# closed "
)

func (s seal) nextSeal(item []byte) seal {
	h := s.newHash()
	h.Write(item)
	return seal(h.Sum(nil))
}

// newHash returns what nextSeal computes, for an item that is written to it in pieces.
func (s seal) newHash() hash.Hash {
	h := sha256.New()
	h.Write(s[:])
	return h
}

// sealLine returns the comment after item number n.
func sealLine(n, length int, s seal) string {
	line := append(make([]byte, 0, longestSealLine), sealPrefix...)
	line = append(strconv.AppendInt(line, int64(n), 10), ' ')
	line = append(strconv.AppendInt(line, int64(length), 10), ' ')
	return string(append(hex.AppendEncode(line, s[:]), '\n'))
}

// closing is what the last line of a complete file says, apart from the hash.
type closing struct {
	count int // interactions in the file
	Loss
}

// lineAfter returns the last line of the file; last is the last item's seal, or
// the head's when there is none.
func (c closing) lineAfter(last seal) string {
	text := closePrefix + strconv.Itoa(c.count) + " "
	if c.Lost > 0 {
		text += "lost " + strconv.Itoa(c.Lost) + " "
	}
	if c.Recovered {
		text += "recovered "
	}
	s := last.nextSeal([]byte(text))
	return text + hex.EncodeToString(s[:]) + "\n"
}

// readSeal splits a seal line. The parts are unverified: before trusting the
// item, generate the line again and compare.
func readSeal(line []byte) (n, length int, s seal, ok bool) {
	text, isSeal := bytes.CutPrefix(line, []byte(sealPrefix))
	number, rest, _ := bytes.Cut(text, []byte(" "))
	size, digits, _ := bytes.Cut(bytes.TrimSuffix(rest, []byte("\n")), []byte(" "))
	if !isSeal || len(digits) != 2*len(s) {
		return 0, 0, s, false
	}
	n, err1 := strconv.Atoi(string(number))
	length, err2 := strconv.Atoi(string(size))
	_, err3 := hex.Decode(s[:], digits)
	return n, length, s, err1 == nil && err2 == nil && err3 == nil && n >= 0 && length >= 0
}

// readClose returns what a complete file's last line says and where that line
// starts. It is unverified, as seals are.
func readClose(data []byte) (c closing, start int, ok bool) {
	if !bytes.HasSuffix(data, []byte("\n")) {
		return c, 0, false
	}
	start = lineStart(data, len(data))
	text, found := strings.CutPrefix(string(data[start:len(data)-1]), closePrefix)
	f := strings.Split(text, " ")
	if len(f) < 2 || !found {
		return c, 0, false
	}
	words := f[1 : len(f)-1]
	var err, err2 error
	c.count, err = strconv.Atoi(f[0])
	if len(words) >= 2 && words[0] == "lost" {
		c.Lost, err2 = strconv.Atoi(words[1])
		words = words[2:]
	}
	if len(words) == 1 && words[0] == "recovered" {
		c.Recovered, words = true, nil
	}
	return c, start, err == nil && err2 == nil && c.count >= 0 && c.Lost >= 0 && len(words) == 0
}

// lineStart returns where the line that ends (with its line feed) at end starts.
func lineStart(data []byte, end int) int {
	if end == 0 {
		return 0
	}
	return bytes.LastIndexByte(data[:end-1], '\n') + 1
}

// span is one item in a sealed file: its bytes, and the seal line up to end.
type span struct{ start, seal, end int }

// indexItems finds the items of a complete file by walking back from the closing
// line: each seal states its item's length, so only the seals are read.
func indexItems(name string, data content, head, line []byte) ([]span, closing, error) {
	c, _, ok := readClose(line)
	end := data.size - len(line)
	if !ok || end < len(head) {
		return nil, c, noCloseError(name, data)
	}
	if c.count > (data.size-len(head))/len(itemStart) {
		return nil, c, damagedError(name, "the closing line")
	}
	spans, last := make([]span, c.count), seal(sha256.Sum256(head))
	sealed, _, err := data.readAround(end)
	for i := c.count - 1; i >= 0 && err == nil; i-- {
		n, length, s, ok := readSeal(sealed)
		at := end - len(sealed)
		start := at - length
		if !ok || n != i || start < len(head) || length < len(itemStart) {
			return nil, c, damagedError(name, fmt.Sprintf("the seal of interaction %d", i))
		}
		if i == c.count-1 {
			last = s
		}
		var begin []byte
		if sealed, begin, err = data.readAround(start); err == nil && string(begin) != itemStart {
			return nil, c, damagedError(name, fmt.Sprintf("the seal of interaction %d", i))
		}
		spans[i], end = span{start, at, end}, start
	}
	switch {
	case err != nil:
		return nil, c, readError(name, err)
	case end != len(head):
		return nil, c, damagedError(name, "the head")
	case string(line) != c.lineAfter(last):
		return nil, c, damagedError(name, "the closing line")
	}
	return spans, c, nil
}

func tornError(name string) error {
	return newError(name, ErrTorn,
		"its closing line is missing, so the end of the recording is lost; run: recorder recover %s",
		terminal.ShellWord(name))
}

// mostTail is how much of the end of a file is searched for a closing line that something
// else follows.
const mostTail = 4096

// noCloseError is the error for a file whose last line is no closing line.
func noCloseError(name string, data content) error {
	tail, _ := data.readBytes(max(0, data.size-mostTail), data.size) // without it, it is torn
	_, after, found := bytes.Cut(tail, []byte("\n"+closePrefix))
	if _, more, isWhole := bytes.Cut(after, []byte("\n")); found && isWhole && len(more) > 0 {
		return tailError(name)
	}
	return tornError(name)
}

func tailError(name string) error {
	return newError(name, ErrDamaged, "has text after its closing line; remove that text")
}

// damagedAt is the error for an item that is not what its seal says. The head has no seal of its
// own: the seal of interaction 0 covers both.
func damagedAt(name string, i int) error {
	if i == 0 {
		return damagedError(name, "the head or interaction 0")
	}
	return damagedError(name, fmt.Sprintf("interaction %d", i))
}

func damagedError(name, what string) error {
	return newError(name, ErrDamaged,
		"%s is damaged; restore the file from a copy or, if you edited it, run: recorder seal %s", what,
		terminal.ShellWord(name))
}

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
func scanItems(name string, r io.Reader, longest int, visit func(before scanned, item []byte) error) (s scanned,
	err error) {
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
	if !item.isItem || string(line) != sealLine(s.count, item.size, next) ||
		item.visit != nil && item.visit(*s, item.kept) != nil {
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
		return newError(name, ErrDamaged,
			"was made shorter while it was read; restore the file from a copy or record it again")
	}
	return newError(name, err, "cannot be read (%s); check the path and its permissions",
		firstLine(fileutil.Reason(err)))
}
