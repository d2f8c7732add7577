package jsontok

import "bytes"

// AppendUnescaped appends the text of a JSON string literal, given without its
// quotes, to dst. A lone surrogate is appended in WTF-8; a low one joins a high
// one that dst ends with, so that a pair split over two deltas is whole again.
// Escapes that JSON does not know are kept as they stand.
func AppendUnescaped(dst, lit []byte) []byte {
	for {
		i := bytes.IndexByte(lit, '\\')
		if i < 0 {
			return append(dst, lit...)
		}
		dst = append(dst, lit[:i]...)
		dst, lit = appendEscape(dst, lit[i:])
	}
}

// appendEscape appends the escape that lit begins with and returns the rest.
func appendEscape(dst, lit []byte) ([]byte, []byte) {
	if len(lit) < 2 {
		return append(dst, lit...), nil
	}
	if c := unescapes[lit[1]]; c != 0 {
		return append(dst, c), lit[2:]
	}
	if r, ok := hex4(lit); ok {
		return appendUnit(dst, r), lit[6:]
	}
	return append(dst, lit[:2]...), lit[2:]
}

// unescapes maps the letter of a two-byte escape to its meaning.
var unescapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hex4 reads \uXXXX at the start of lit.
func hex4(lit []byte) (uint32, bool) {
	if len(lit) < 6 || lit[1] != 'u' {
		return 0, false
	}
	var r uint32
	for _, c := range lit[2:6] {
		d := hexDigits[c]
		if d < 0 {
			return 0, false
		}
		r = r<<4 | uint32(d)
	}
	return r, true
}

// hexDigits maps a hexadecimal digit to its value and everything else to -1.
var hexDigits = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range 16 {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = int8(i), int8(i)
	}
	return t
}()

// appendUnit appends one UTF-16 unit in WTF-8.
func appendUnit(dst []byte, u uint32) []byte {
	switch {
	case u < 0x80:
		return append(dst, byte(u))
	case u < 0x800:
		return append(dst, 0xC0|byte(u>>6), 0x80|byte(u&0x3F))
	case 0xDC00 <= u && u < 0xE000 && len(dst) >= 3 && isSurrogate(dst[len(dst)-3:], 0xA0):
		// The high surrogate that dst ends with and this low one are one rune.
		n := len(dst) - 3
		high := 0xD000 | uint32(dst[n+1]&0x3F)<<6 | uint32(dst[n+2]&0x3F)
		r := 0x10000 + (high-0xD800)<<10 + (u - 0xDC00)
		return append(dst[:n], 0xF0|byte(r>>18), 0x80|byte(r>>12&0x3F), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
	}
	return append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
}

// isSurrogate reports whether b begins with the WTF-8 form of a surrogate
// whose second byte lies in [lo, lo+0x0F]: 0xA0 for high ones, 0xB0 for low.
func isSurrogate(b []byte, lo byte) bool {
	return len(b) >= 3 && b[0] == 0xED && b[1]&0xF0 == lo && b[2]&0xC0 == 0x80
}

// AppendQuoted appends text as a JSON string literal, quotes included. Nothing
// is lost: lone WTF-8 surrogates become escapes again, other bytes that are not
// UTF-8 stand as they are, and only what JSON demands is escaped.
func AppendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		n := plainPrefix(text, i)
		dst = append(dst, text[i:i+n]...)
		if i += n; i < len(text) {
			dst, i = appendSpecial(dst, text, i)
		}
	}
	return append(dst, '"')
}

// plainPrefix counts the bytes of text from i on that stand for themselves.
func plainPrefix[T string | []byte](text T, i int) int {
	start := i
	for i < len(text) && text[i] >= 0x20 && text[i] != '"' && text[i] != '\\' && text[i] != 0xED {
		i++
	}
	return i - start
}

const hexAlphabet = "0123456789abcdef"

// appendSpecial appends the byte or surrogate of text at i and returns where
// it ends.
func appendSpecial[T string | []byte](dst []byte, text T, i int) ([]byte, int) {
	switch c := text[i]; c {
	case 0xED:
		// A high and a low surrogate side by side are no WTF-8; escaping them would join them, so they
		// stay bytes.
		b := []byte(text[i:min(i+6, len(text))])
		switch {
		case isSurrogate(b, 0xA0) && isSurrogate(b[3:], 0xB0):
			return append(dst, b...), i + 6
		case isSurrogate(b, 0xA0), isSurrogate(b, 0xB0):
			u := 0xD000 | uint32(b[1]&0x3F)<<6 | uint32(b[2]&0x3F)
			return append(dst, '\\', 'u', 'd', hexAlphabet[u>>8&0xF], hexAlphabet[u>>4&0xF], hexAlphabet[u&0xF]), i + 3
		}
		return append(dst, b[0]), i + 1
	case '"', '\\':
		return append(dst, '\\', c), i + 1
	case '\n':
		return append(dst, '\\', 'n'), i + 1
	case '\r':
		return append(dst, '\\', 'r'), i + 1
	case '\t':
		return append(dst, '\\', 't'), i + 1
	default:
		return append(dst, '\\', 'u', '0', '0', hexAlphabet[c>>4], hexAlphabet[c&0xF]), i + 1
	}
}
