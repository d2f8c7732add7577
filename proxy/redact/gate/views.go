package gate

import (
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

// maxUnpacked bounds what compressed data may grow to, in bytes. Larger data is
// refused unsearched.
const maxUnpacked = 256 << 20

// searchCompressed searches gzip data: the whole text, or a run of base64 in it.
func (s *search) searchCompressed(text []byte) *Hit {
	if bytes.HasPrefix(text, []byte("\x1f\x8b\x08")) {
		return s.searchUnpacked(bytes.NewReader(text))
	}
	for at, end := 0, 0; ; at++ {
		n := bytes.Index(text[at:], []byte("H4sI")) // 1f 8b 08 in base64
		if n < 0 {
			return nil
		}
		at += n
		for end = max(end, at); end < len(text) && sextet[text[end]] >= 0; {
			end++
		}
		if hit := s.searchUnpacked(&base64Reader{text[at:end]}); hit != nil {
			return hit
		}
	}
}

// searchUnpacked searches compressed data window by window. Data that is not
// compressed contains nothing.
func (s *search) searchUnpacked(packed io.Reader) *Hit {
	if s.gzip.Reset(packed) != nil {
		return nil // not packed, so there is nothing in it
	}
	buf, total := slices.Grow(s.takeBuffer(), window), 0
	defer func() { s.returnBuffer(buf) }()
	for {
		n, err := io.ReadFull(&s.gzip, buf[len(buf):cap(buf)])
		buf, total = buf[:len(buf)+n], total+n
		if hit := s.searchDecoded(buf); hit != nil {
			return hit
		}
		switch {
		case err != nil:
			return nil // the end, or where the data is damaged
		case total > maxUnpacked:
			return &Hit{What: "compressed data that is too large to be searched"}
		}
		buf = buf[:copy(buf, buf[len(buf)-overlap:])]
	}
}

// base64Reader decodes a run of base64 letters only as far as it is read: most
// runs that look compressed at the beginning are not.
type base64Reader struct{ run []byte }

// Read needs room for at least three bytes, which gzip's buffer has.
func (r *base64Reader) Read(p []byte) (int, error) {
	n := min(len(r.run), len(p)/3*4)
	if n == 0 {
		return 0, io.EOF
	}
	out := decodeBase64(p[:0], r.run[:n])
	r.run = r.run[n:]
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
		dst = append(dst, byte(int(sextet[run[0]])<<2|int(sextet[run[1]])>>4)) //nolint:gosec // the byte is what is wanted
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
