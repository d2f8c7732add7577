package tree

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescapeString resolves the escapes of a valid JSON string body. A lone surrogate
// becomes its three-byte form (WTF-8) instead of U+FFFD: replacing it would
// hide that an agent replaced it.
func unescapeString(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; i >= 0; i = strings.IndexByte(s, '\\') {
		b = append(b, s[:i]...)
		if s[i+1] == 'u' {
			var r rune
			r, i = escapedRune(s, i)
			b = appendRune(b, r)
		} else {
			b = append(b, escapeValues[s[i+1]])
			i += 2
		}
		s = s[i:]
	}
	return string(append(b, s...))
}

var escapeValues = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escapedRune reads the \uXXXX at s[i:], with its low half if it has one, and
// returns the offset after it.
func escapedRune(s string, i int) (rune, int) {
	r, next := hex4(s, i), i+6
	if utf16.IsSurrogate(r) && next+6 <= len(s) && s[next] == '\\' && s[next+1] == 'u' {
		if c := utf16.DecodeRune(r, hex4(s, next)); c != utf8.RuneError {
			return c, next + 6
		}
	}
	return r, next
}

func hex4(s string, i int) rune {
	v, _ := strconv.ParseUint(s[i+2:i+6], 16, 16)
	return rune(v)
}

func appendRune(b []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(b, r)
}

const hexDigits = "0123456789abcdef"

// beginsWithSurrogate reports whether s begins with a surrogate in WTF-8, a high one if
// low is false.
func beginsWithSurrogate(s string, low bool) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && (s[1] >= 0xB0) == low && s[2]&0xC0 == 0x80
}

// Quote renders s as a JSON string; Text of the result is s again. A high and a
// low surrogate side by side stay bytes: as escapes they would be one rune.
func Quote(s string) []byte {
	b := []byte{'"'}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case beginsWithSurrogate(s[i:], false) && beginsWithSurrogate(s[i+3:], true):
			b = append(b, s[i:i+6]...)
			i += 5
		case beginsWithSurrogate(s[i:], false), beginsWithSurrogate(s[i:], true):
			r := rune(0xD000) | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F)
			b = append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			i += 2
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// IsBase64 reports whether text is base64 of either alphabet, padded or not, with line ends
// anywhere.
func IsBase64(text string) bool {
	bare := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "=\r\n"))
	_, err := base64.RawStdEncoding.DecodeString(bare)
	return err == nil
}

// Encode renders a tree compactly. Scalars keep their bytes, containers are
// rendered from their members, so that a changed tree can be sent.
func Encode(n *Node) []byte { return appendNode(nil, n) }

func appendNode(b []byte, n *Node) []byte {
	brackets := "[]"
	switch {
	case n.kind == Object:
		brackets = "{}"
	case n.kind != Array:
		return append(b, n.raw...)
	}
	b = append(b, brackets[0])
	for i, v := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == Object {
			b = append(append(b, Quote(n.names[i])...), ':')
		}
		b = appendNode(b, v)
	}
	return append(b, brackets[1])
}
