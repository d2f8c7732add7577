package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"

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
	return newError(name, ErrTorn, "its closing line is missing, so the end of the recording is lost; run: recorder recover %s", terminal.ShellWord(name))
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
// own: that of the first item covers both.
func damagedAt(name string, i int) error {
	if i == 0 {
		return damagedError(name, "the head or interaction 0")
	}
	return damagedError(name, fmt.Sprintf("interaction %d", i))
}

func damagedError(name, what string) error {
	return newError(name, ErrDamaged, "%s is damaged; restore the file from a copy or, if you edited it, run: recorder seal %s", what, terminal.ShellWord(name))
}
