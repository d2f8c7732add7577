package jsontok

import (
	"bytes"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// Fields calls f for every member of the JSON object in src, in order. name is
// unescaped; value is a slice of src, and so is name as a rule: keep neither
// longer than src. An error of f ends the walk and is returned as it is; a
// syntax error comes after the members before it.
func Fields(src []byte, f func(name, value []byte) error) error {
	c := Cursor{Src: src}
	if !c.Byte('{') {
		return c.syntaxError("an object")
	}
	for first := true; !c.Byte('}'); first = false {
		if !first && !c.Byte(',') {
			return c.syntaxError("a comma or a closing brace")
		}
		name, ok := c.String()
		if !ok || !c.Byte(':') {
			return c.syntaxError("a member name and a colon")
		}
		value, err := c.nextValue()
		if err != nil {
			return err
		}
		if bytes.IndexByte(name, '\\') >= 0 {
			name = AppendUnescaped(nil, name)
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return c.onlySpace()
}

// Elements calls f for every element of the JSON array in src, in order, as
// Fields does for members.
func Elements(src []byte, f func(value []byte) error) error {
	c := Cursor{Src: src}
	if !c.Byte('[') {
		return c.syntaxError("an array")
	}
	for first := true; !c.Byte(']'); first = false {
		if !first && !c.Byte(',') {
			return c.syntaxError("a comma or a closing bracket")
		}
		value, err := c.nextValue()
		if err != nil {
			return err
		}
		if err := f(value); err != nil {
			return err
		}
	}
	return c.onlySpace()
}

// nextValue consumes one value and returns its bytes. What the cursor refuses goes
// to the tokeniser, which follows deeper nesting and says what is wrong.
func (c *Cursor) nextValue() ([]byte, error) {
	c.skipSpace()
	start := c.pos
	if !c.Skip() {
		dec := jsontext.NewDecoder(bytes.NewBuffer(c.Src[start:]), lax...)
		if _, err := dec.ReadValue(); err != nil {
			return nil, err
		}
		c.pos = start + int(dec.InputOffset())
	}
	return c.Src[start:c.pos:c.pos], nil
}

// Invalid UTF-8 and repeated names are the provider's business: we keep them.
var lax = []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}

// Valid reports whether src is exactly one JSON value.
func Valid(src []byte) bool {
	c := Cursor{Src: src}
	return c.Skip() && c.End() || jsontext.Value(src).IsValid(lax...)
}

func (c *Cursor) onlySpace() error {
	if !c.End() {
		return c.syntaxError("the end")
	}
	return nil
}

// SyntaxError says where text departs from JSON.
type SyntaxError struct {
	Want   string
	Offset int
	// Cut is set when the text just stops.
	Cut bool
}

// Error says what was expected where.
func (e *SyntaxError) Error() string {
	if e.Cut {
		return fmt.Sprintf("JSON stops at byte %d where %s was expected", e.Offset, e.Want)
	}
	return fmt.Sprintf("JSON goes on at byte %d where %s was expected", e.Offset, e.Want)
}

func (c *Cursor) syntaxError(want string) error {
	return &SyntaxError{Want: want, Offset: c.pos, Cut: c.pos >= len(c.Src)}
}

// String returns the text of a JSON string, and "" for any other value.
func String(value []byte) string {
	return string(Text(value))
}

// Text returns the text of a JSON string as bytes, a slice of value unless it
// has escapes, and nil for any other value.
func Text(value []byte) []byte {
	lit, ok := Literal(value)
	if ok && bytes.IndexByte(lit, '\\') >= 0 {
		return AppendUnescaped(make([]byte, 0, len(lit)), lit)
	}
	return lit
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

// Int returns the value of a JSON number that is an unsigned integer and fits
// an int.
func Int(value []byte) (int, bool) {
	n, ok := Uint(value)
	if !ok || n > math.MaxInt {
		return 0, false
	}
	return int(n), true
}

// Uint returns the value of a JSON number that is an unsigned integer.
func Uint(value []byte) (n uint64, ok bool) {
	for _, c := range value {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, len(value) > 0
}
