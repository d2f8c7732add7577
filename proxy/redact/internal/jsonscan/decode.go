package jsonscan

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// Decoded is a text without its escapes that knows where each byte was written.
type Decoded struct {
	Text []byte
	at   []int // for each byte of text, and for its end: the offset in the escaped text
}

// EscapedSpans returns spans of the decoded text as spans of the escaped one.
func (d Decoded) EscapedSpans(spans []lex.Span) []lex.Span {
	for i, s := range spans {
		spans[i] = lex.Between(d.at[s.Start], d.at[s.End])
	}
	return spans
}

// add appends what was written at an offset.
func (d *Decoded) add(at int, text ...byte) {
	for _, c := range text {
		d.Text, d.at = append(d.Text, c), append(d.at, at)
	}
}

// DecodeJSON decodes the raw text of a JSON string. Text that is not an escape stays as
// it is.
func DecodeJSON(raw []byte) (d Decoded) {
	for i := 0; i < len(raw); {
		text, size := decodeEscape(raw[i:])
		d.add(i, text...)
		i += size
	}
	d.at = append(d.at, len(raw))
	return d
}

// decodeEscape decodes the first character of raw, and says how long it is there.
func decodeEscape(raw []byte) (text []byte, size int) {
	if raw[0] != '\\' || len(raw) < 2 {
		return raw[:1], 1
	}
	if n := bytes.IndexByte([]byte("nrtbf"), raw[1]); n >= 0 {
		return []byte{"\n\r\t\b\f"[n]}, 2
	}
	if raw[1] == 'u' && len(raw) >= 6 {
		if code, err := strconv.ParseUint(string(raw[2:6]), 16, 16); err == nil {
			return utf8.AppendRune(nil, rune(code)), 6
		}
	}
	return raw[1:2], 2
}

// DecodeURL decodes a value of a query or a form.
func DecodeURL(raw string) (d Decoded) {
	for i := 0; i < len(raw); i++ {
		d.at = append(d.at, i)
		c := raw[i]
		if c == '+' {
			c = ' '
		}
		if c == '%' && i+2 < len(raw) {
			if code, err := strconv.ParseUint(raw[i+1:i+3], 16, 8); err == nil {
				c, i = byte(code), i+2
			}
		}
		d.Text = append(d.Text, c)
	}
	d.at = append(d.at, len(raw))
	return d
}

// IsDocument reports whether a text is a JSON object or array.
func IsDocument(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 1 && (text[0] == '{' || text[0] == '[')
}

const (
	// MaxNested is the length of the longest text that is decoded to look into it, in bytes.
	MaxNested = 256 << 10
	// DeepestNested is how many texts may stand inside each other.
	DeepestNested = 4
)
