package gate

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// unescape appends text to dst with percent and JSON escapes undone, and reports
// whether there were any.
func unescape(dst, text []byte) (out []byte, changed bool) {
	for from, i := 0, 0; ; {
		for i < len(text) && text[i] != '%' && text[i] != '\\' {
			i++
		}
		if i == len(text) {
			return append(dst, text[from:]...), changed
		}
		dst = append(dst, text[from:i]...)
		var n int
		if dst, n = unescapeOne(dst, text[i:]); n == 0 {
			from, i = i, i+1
			continue
		}
		i, changed = i+n, true
		from = i
	}
}

// unescapeOne appends what the escape at the start of text stands for and
// returns its length.
func unescapeOne(dst, text []byte) ([]byte, int) {
	switch {
	case text[0] == '%' && len(text) >= 3:
		var b [1]byte
		if _, err := hex.Decode(b[:], text[1:3]); err == nil {
			return append(dst, b[0]), 3
		}
	case text[0] == '\\' && len(text) >= 6 && text[1] == 'u':
		if v, err := strconv.ParseUint(string(text[2:6]), 16, 16); err == nil {
			return utf8.AppendRune(dst, rune(v)), 6
		}
	case text[0] == '\\' && len(text) >= 2:
		switch text[1] {
		case '"', '\\', '/':
			return append(dst, text[1]), 2
		case 'n', 'r', 't', 'b', 'f':
			return append(dst, ' '), 2
		}
	}
	return dst, 0
}

// maxUnpacked bounds what the compressed data of an interaction may grow to, in bytes. More
// is refused unsearched.
const maxUnpacked = 256 << 20

// searchCompressed searches gzip data: the whole text, or a run of base64 in it.
func (s *search) searchCompressed(text []byte) *Hit {
	if bytes.HasPrefix(text, []byte("\x1f\x8b\x08")) {
		return s.searchUnpacked(bytes.NewReader(text))
	}
	taken := 0
	for at, end := 0, 0; ; at++ {
		n := bytes.Index(text[at:], []byte("H4sI")) // 1f 8b 08 in base64
		if n < 0 {
			return nil
		}
		at += n
		for end = max(end, at); end < len(text) && sextet[text[end]] >= 0; {
			end++
		}
		if taken > 4*len(text)+window { // of beginnings inside each other
			if isGzipHeader(text[at:end]) {
				return tooLarge()
			}
			continue
		}
		if s.packed == nil {
			s.packed = bufio.NewReaderSize(nil, packedBuffer)
		}
		s.packed.Reset(&base64Reader{text[at:end], &taken})
		was := taken
		hit := s.searchUnpacked(s.packed)
		if s.read += taken - was; hit != nil {
			return hit
		}
	}
}

// searchUnpacked searches compressed data window by window. Data that is not
// compressed contains nothing.
func (s *search) searchUnpacked(packed io.Reader) *Hit {
	isPacked := s.gzip.Reset(packed) == nil
	buf := slices.Grow(s.takeBuffer(), window)
	defer func() { s.returnBuffer(buf) }()
	for isPacked && s.unpacked <= maxUnpacked {
		n, err := io.ReadFull(&s.gzip, buf[len(buf):cap(buf)])
		buf, s.unpacked = buf[:len(buf)+n], s.unpacked+n
		if hit := s.searchDecoded(buf); hit != nil {
			return hit
		}
		if err != nil {
			return nil // the end, or where the data is damaged
		}
		buf = buf[:copy(buf, buf[len(buf)-overlap:])]
	}
	if isPacked {
		return tooLarge()
	}
	return nil
}

// isGzipHeader reports whether a run of base64 begins with a header as packers write it.
func isGzipHeader(run []byte) bool {
	var space [12]byte
	head := decodeBase64(space[:0], run[:min(len(run), 16)])
	return len(head) >= 10 && head[3] < 1<<5 && (head[8] == 0 || head[8] == 2 || head[8] == 4) &&
		(head[9] <= 13 || head[9] == 255)
}

func tooLarge() *Hit { return &Hit{What: "compressed data that is too large to be searched"} }

// packedBuffer is how much compressed data is decoded at once, in bytes: most runs that look
// compressed at the beginning are not.
const packedBuffer = 96

// base64Reader decodes a run of base64 letters as far as it is read, and counts that.
type base64Reader struct {
	run   []byte
	taken *int
}

// Read needs room for at least three bytes, which bufio's buffer has.
func (r *base64Reader) Read(p []byte) (int, error) {
	n := min(len(r.run), len(p)/3*4)
	if n == 0 {
		return 0, io.EOF
	}
	out := decodeBase64(p[:0], r.run[:n])
	r.run, *r.taken = r.run[n:], *r.taken+len(out)
	return len(out), nil
}

// decodeBase64 appends the bytes that a run of base64 letters stands for.
func decodeBase64(dst, run []byte) []byte {
	for ; len(run) >= 4; run = run[4:] {
		n := int(sextet[run[0]])<<18 | int(sextet[run[1]])<<12 | int(sextet[run[2]])<<6 | int(sextet[run[3]])
		dst = append(dst, byte(n>>16), byte(n>>8), byte(n)) //nolint:gosec // the byte is what is wanted
	}
	switch len(run) {
	case 2:
		dst = append(dst,
			byte(int(sextet[run[0]])<<2|int(sextet[run[1]])>>4)) //nolint:gosec // the byte is what is wanted
	case 3:
		n := int(sextet[run[0]])<<10 | int(sextet[run[1]])<<4 | int(sextet[run[2]])>>2
		dst = append(dst, byte(n>>8), byte(n)) //nolint:gosec // the byte is what is wanted
	}
	return dst
}

// sextet is the value of a base64 letter, or -1.
var sextet = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range letters {
		t[letters[i]] = int8(i)
	}
	t['-'], t['_'] = t['+'], t['/']
	return t
}()
