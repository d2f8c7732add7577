package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// bodyIndent is the indent of the lines of a literal body and of header names.
// yaml.v3 writes the same layout.
const bodyIndent = "            "

// appendBody writes a message body: as a literal block when YAML keeps that byte
// for byte, because people read and diff cassettes, otherwise quoted.
func appendBody(dst, body []byte) []byte {
	if !literalSafe(body) {
		return append(appendQuoted(dst, body), '\n')
	}
	breaks := breakStyle(body)
	dst = appendLines(append(dst, literalStyles[breaks]...), body, true)
	if breaks == 0 {
		dst = append(dst, '\n')
	}
	return dst
}

// literalStyles begin a literal block that ends with no line feed, one, or more.
var literalStyles = [...]string{"|-\n", "|\n", "|+\n"}

// appendLines writes the lines of a literal block, or a part of them: it says whether the
// text begins a line.
func appendLines(dst, text []byte, beginsLine bool) []byte {
	for line := range bytes.Lines(text) {
		if beginsLine && line[0] != '\n' {
			dst = append(dst, bodyIndent...)
		}
		dst, beginsLine = append(dst, line...), true
	}
	return dst
}

// literalSafe reports whether a literal block keeps s. YAML loses carriage
// returns, unusual line breaks and leading white space. Blanks before a line end
// would survive YAML but not editors.
func literalSafe(s []byte) bool {
	if len(s) == 0 || isBlank(s[0]) || s[0] == '\n' || isBlank(s[len(s)-1]) {
		return false
	}
	for i := 0; i < len(s); {
		if isPlainWord(s[i:]) {
			i += wordSize
			continue
		}
		c := s[i]
		if c == '\n' && isBlank(s[i-1]) {
			return false
		}
		if c < utf8.RuneSelf {
			if !plainByte[c] && c != '\n' && c != '\t' {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n == 1 || !isPrintable(r) {
			return false
		}
		i += n
	}
	return true
}

// wordSize is how many bytes isPlainWord looks at.
const wordSize = 8

// isPlainWord reports whether s begins with wordSize plain bytes: none below a space, none
// above a tilde. It looks at all of them at once, because bodies are long.
func isPlainWord(s []byte) bool {
	const ones = ^uint64(0) / 0xff
	if len(s) < wordSize {
		return false
	}
	w := binary.LittleEndian.Uint64(s)
	return (w|(w-ones*' ')|(w+ones))&(ones*0x80) == 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// plainByte marks the ASCII bytes that need no escape between double quotes,
// apart from the quote and the backslash themselves.
var plainByte = func() (t [utf8.RuneSelf]bool) {
	for c := 0x20; c < 0x7f; c++ {
		t[c] = true
	}
	return t
}()

// isPrintable reports whether a non-ASCII rune may stand in YAML as itself: no
// C1 controls, no line or paragraph separators, no byte order mark.
func isPrintable(r rune) bool {
	switch {
	case r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// appendQuoted writes s on one line between double quotes, or as !!binary when
// it is not UTF-8. It loses nothing, whatever s contains.
func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	start := len(dst)
	dst, isText := appendEscaped(append(dst, '"'), s)
	if !isText {
		dst = base64.StdEncoding.AppendEncode(append(dst[:start], binaryTag...), []byte(s))
	}
	return append(dst, '"')
}

// appendEscaped writes what stands between double quotes, as far as s is UTF-8.
func appendEscaped[T string | []byte](dst []byte, s T) (out []byte, isText bool) {
	for i := 0; i < len(s); {
		run := i
		for i < len(s) && s[i] < utf8.RuneSelf && plainByte[s[i]] && s[i] != '"' && s[i] != '\\' {
			i++
		}
		dst = append(dst, s[run:i]...)
		if i == len(s) {
			break
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if r == utf8.RuneError && n == 1 {
			return dst, false
		}
		dst, i = appendRune(dst, r), i+n
	}
	return dst, true
}

func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < utf8.RuneSelf && plainByte[r], r >= utf8.RuneSelf && isPrintable(r):
		return utf8.AppendRune(dst, r)
	case r < 0x100:
		return fmt.Appendf(dst, `\x%02x`, r)
	default:
		return fmt.Appendf(dst, `\u%04x`, r)
	}
}
