package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// Writer is [Text] for a stream: it shows what is written to it, wherever the stream
// is cut. The end of a write that may be the beginning of a character waits for the
// next write, or for [Writer.Flush]. A Writer is used by one goroutine at a time.
type Writer struct {
	w       io.Writer
	text    strings.Builder
	printer printer
	held    string // the beginning of a character
}

// NewWriter returns a Writer that writes visible text to w.
func NewWriter(w io.Writer) *Writer {
	return newWriter(w, func(b *strings.Builder, r rune, raw string) { writeCode(b, r, raw, true) })
}

// NewJSONWriter returns a Writer for JSON. What [Text] would show by its code is
// written as an escape of JSON: the value stays the same. Newlines and tabs between
// the values stay.
func NewJSONWriter(w io.Writer) *Writer { return newWriter(w, writeJSONEscape) }

func newWriter(w io.Writer, escape func(b *strings.Builder, r rune, raw string)) *Writer {
	v := &Writer{w: w}
	v.printer = printer{out: &v.text, escape: func(r rune, raw string) { escape(&v.text, r, raw) }}
	return v
}

// Write implements io.Writer. Errors are those of the writer below; the count is of
// bytes of p.
func (v *Writer) Write(p []byte) (int, error) {
	for from := 0; from < len(p); from += pieceSize {
		if _, err := v.WriteString(string(p[from:min(from+pieceSize, len(p))])); err != nil {
			return from, err
		}
	}
	return len(p), nil
}

// pieceSize bounds the memory that a large write takes.
const pieceSize = 32 << 10

// WriteString is Write for text, which it does not copy.
func (v *Writer) WriteString(text string) (int, error) {
	for from := 0; from < len(text); from += pieceSize {
		piece := v.held + text[from:min(from+pieceSize, len(text))]
		v.text.Grow(len(piece))
		v.held = v.printer.printText(piece, true)
		if err := v.writeOut(); err != nil {
			return from, err
		}
	}
	return len(text), nil
}

// Flush writes the beginning of a character that never got its end.
func (v *Writer) Flush() error {
	v.printer.printText(v.held, false)
	v.held = ""
	return v.writeOut()
}

func (v *Writer) writeOut() error {
	text := v.text.String()
	v.text.Reset()
	if text == "" {
		return nil
	}
	_, err := io.WriteString(v.w, text)
	return err
}

// writeJSONEscape writes a hidden character of a JSON document. Bytes that are not
// valid UTF-8 cannot be written otherwise; a decoder takes them for U+FFFD, too.
func writeJSONEscape(b *strings.Builder, r rune, _ string) {
	switch {
	case r == '\n' || r == '\t' || r == '\r': // between values; inside they are escaped already
		b.WriteRune(r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}
