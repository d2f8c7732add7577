package jsontok

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// walker is a tokeniser that reads straight from the caller's bytes.
type walker struct {
	buf bytes.Buffer
	dec *jsontext.Decoder
	src []byte
}

// Invalid UTF-8 and repeated names are the provider's business: we keep them.
var lax = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

var walkers = sync.Pool{New: func() any {
	return &walker{dec: jsontext.NewDecoder(new(bytes.Buffer), lax...)}
}}

func newWalker(src []byte) *walker {
	w := walkers.Get().(*walker)
	w.src = src
	w.buf = *bytes.NewBuffer(src)
	w.dec.Reset(&w.buf, lax...)
	return w
}

func (w *walker) free() {
	w.src, w.buf = nil, bytes.Buffer{}
	w.dec.Reset(&w.buf, lax...)
	walkers.Put(w)
}

// value reads the next value and returns it as a slice of the caller's bytes.
func (w *walker) value() ([]byte, error) {
	v, err := w.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(w.dec.InputOffset())
	return w.src[end-len(v) : end : end], nil
}

// open reads the bracket that the value must begin with.
func (w *walker) open(kind jsontext.Kind) error {
	tok, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != kind {
		return fmt.Errorf("a JSON %v where %q was expected", tok.Kind(), byte(kind))
	}
	return nil
}

// end reads the closing bracket and makes sure that nothing follows.
func (w *walker) end() error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := w.dec.ReadToken(); err != io.EOF {
		return fmt.Errorf("text after the JSON value at byte %d", w.dec.InputOffset())
	}
	return nil
}

// Fields calls f for every member of the JSON object in src, in order. name is
// unescaped; value is a slice of src, and so is name as a rule: keep neither
// longer than src. An error of f ends the walk and is
// returned as it is.
func Fields(src []byte, f func(name, value []byte) error) error {
	w := newWalker(src)
	defer w.free()
	if err := w.open('{'); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.value()
		if err != nil {
			return err
		}
		value, err := w.value()
		if err != nil {
			return err
		}
		if err := f(memberName(name), value); err != nil {
			return err
		}
	}
	return w.end()
}

// memberName unescapes a quoted name; almost none needs it.
func memberName(quoted []byte) []byte {
	lit := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(lit, '\\') < 0 {
		return lit
	}
	return AppendUnescaped(nil, lit)
}

// Elements calls f for every element of the JSON array in src, in order, as
// Fields does for members.
func Elements(src []byte, f func(value []byte) error) error {
	w := newWalker(src)
	defer w.free()
	if err := w.open('['); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		value, err := w.value()
		if err != nil {
			return err
		}
		if err := f(value); err != nil {
			return err
		}
	}
	return w.end()
}

// Valid reports whether src is exactly one JSON value.
func Valid(src []byte) bool { return jsontext.Value(src).IsValid(lax...) }

// String returns the text of a JSON string, and "" for any other value.
func String(value []byte) string {
	if lit, ok := Literal(value); ok {
		if bytes.IndexByte(lit, '\\') < 0 {
			return string(lit)
		}
		return string(AppendUnescaped(nil, lit))
	}
	return ""
}

// Literal returns what stands between the quotes of a JSON string.
func Literal(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// IsNull reports whether value is null or absent.
func IsNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// Int returns the value of a JSON integer that fits an int.
func Int(value []byte) (int, bool) {
	n, err := strconv.Atoi(string(value))
	return n, err == nil
}

// Uint returns the value of a JSON number that is an unsigned integer.
func Uint(value []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(value), 10, 64)
	return n, err == nil
}
