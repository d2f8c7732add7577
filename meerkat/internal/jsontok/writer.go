package jsontok

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Writer builds one JSON text. Keys stand in the order they are written and
// raw values are copied as they are: nothing is sorted, compacted or escaped
// beyond need. It places commas itself and does not check that
// objects and arrays are closed. The zero value is ready.
type Writer struct{ buf []byte }

// Bytes returns what was written; it stays valid until the next write.
func (w *Writer) Bytes() []byte { return w.buf }

// writeComma separates a value or key from the one before it.
func (w *Writer) writeComma() {
	if n := len(w.buf); n > 0 {
		switch w.buf[n-1] {
		case '{', '[', ':':
		default:
			w.buf = append(w.buf, ',')
		}
	}
}

// Object writes the members that body writes as one object.
func (w *Writer) Object(body func()) {
	w.writeComma()
	w.buf = append(w.buf, '{')
	body()
	w.buf = append(w.buf, '}')
}

// Reopen adds members to the object that was written last. After anything else
// it does nothing.
func (w *Writer) Reopen(body func()) {
	if len(w.buf) == 0 || w.buf[len(w.buf)-1] != '}' {
		return
	}
	w.buf = w.buf[:len(w.buf)-1]
	body()
	w.buf = append(w.buf, '}')
}

// Array writes the values that body writes as one array.
func (w *Writer) Array(body func()) {
	w.writeComma()
	w.buf = append(w.buf, '[')
	body()
	w.buf = append(w.buf, ']')
}

// Key writes the name of the next member. It must need no escaping.
func (w *Writer) Key(name string) *Writer {
	w.writeComma()
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"', ':')
	return w
}

// Raw writes a JSON value as it stands. The caller has checked it.
func (w *Writer) Raw(value []byte) {
	w.writeComma()
	w.buf = append(w.buf, value...)
}

// Int writes a whole number.
func (w *Writer) Int(n int) {
	w.writeComma()
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
}

// Float writes a finite number in its shortest form.
func (w *Writer) Float(f float64) {
	w.writeComma()
	w.buf = strconv.AppendFloat(w.buf, f, 'f', -1, 64)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) {
	w.writeComma()
	w.buf = strconv.AppendBool(w.buf, b)
}

// Str writes s as a string that decodes to s: surrogates held as WTF-8 become
// \udXXX escapes, any other byte that is not UTF-8 goes through unaltered.
// It is for what a provider made and gets back (R33).
func (w *Writer) Str(s string) {
	w.writeComma()
	w.buf = append(w.buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xED {
			i++
			continue
		}
		if c == 0xED && !startsWithSurrogate(s[i:]) {
			i++
			continue
		}
		w.buf = append(w.buf, s[start:i]...)
		i += w.writeEscape(s[i:])
		start = i
	}
	w.buf = append(w.buf, s[start:]...)
	w.buf = append(w.buf, '"')
}

// Text writes s as a string for what no provider made: prompts and tool
// results. Bytes that are not UTF-8, surrogates among them, become U+FFFD,
// because providers refuse the whole request otherwise (R33, ANT-X10).
func (w *Writer) Text(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	w.Str(s)
}

// DataURL writes content as a data URL string.
func (w *Writer) DataURL(mediaType string, content []byte) {
	w.Text("data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(content))
}

// Base64 writes content as a standard base64 string.
func (w *Writer) Base64(content []byte) { w.Str(base64.StdEncoding.EncodeToString(content)) }

// startsWithSurrogate reports whether s starts with a surrogate in WTF-8.
func startsWithSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2] >= 0x80 && s[2] <= 0xBF
}

const hex = "0123456789abcdef"

// writeEscape writes the first character of s escaped and returns its length in s.
func (w *Writer) writeEscape(s string) int {
	switch c := s[0]; c {
	case '"', '\\':
		w.buf = append(w.buf, '\\', c)
	case '\n':
		w.buf = append(w.buf, `\n`...)
	case '\r':
		w.buf = append(w.buf, `\r`...)
	case '\t':
		w.buf = append(w.buf, `\t`...)
	case 0xED:
		r := 0xD000 | uint16(s[1]&0x3F)<<6 | uint16(s[2]&0x3F)
		w.buf = append(w.buf, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		return 3
	default:
		w.buf = append(w.buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return 1
}

// Args writes tool arguments where the provider wants an object: the bytes as
// they are when they hold one, {} when there are none, and otherwise
// {"_raw":"…"} with the bytes as a string, so that a call with broken
// arguments keeps its place and its result (invalid-arguments).
func (w *Writer) Args(args []byte) {
	switch {
	case len(args) == 0:
		w.Raw([]byte("{}"))
	case IsObject(args):
		w.Raw(args)
	default:
		w.Object(func() { w.Key("_raw").Str(string(args)) })
	}
}
