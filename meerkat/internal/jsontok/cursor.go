package jsontok

import (
	"encoding/binary"
	"math/bits"
)

// Cursor scans JSON forward. Every method reports whether it found what it
// names; after false the position means nothing and the caller must fall back
// to the general path. The zero Cursor is empty; set Src to use it.
type Cursor struct {
	Src []byte
	pos int
}

// maxSkip bounds the nesting that Skip follows.
const maxSkip = 64

// Lit consumes exactly the bytes of s.
func (c *Cursor) Lit(s string) bool {
	end := c.pos + len(s)
	if end > len(c.Src) || string(c.Src[c.pos:end]) != s {
		return false
	}
	c.pos = end
	return true
}

// Byte consumes b, after any white space.
func (c *Cursor) Byte(b byte) bool {
	for c.pos < len(c.Src) {
		switch c.Src[c.pos] {
		case b:
			c.pos++
			return true
		case ' ', '\n', '\r', '\t':
			c.pos++
		default:
			return false
		}
	}
	return false
}

// Peek returns the next byte after any white space, 0 at the end.
func (c *Cursor) Peek() byte {
	c.skipSpace()
	if c.pos < len(c.Src) {
		return c.Src[c.pos]
	}
	return 0
}

// Pos returns the offset of the next byte.
func (c *Cursor) Pos() int { return c.pos }

// Since returns what was consumed from the offset start on, as a slice of Src.
func (c *Cursor) Since(start int) []byte { return c.Src[start:c.pos:c.pos] }

// End reports whether only white space is left.
func (c *Cursor) End() bool {
	c.skipSpace()
	return c.pos == len(c.Src)
}

func (c *Cursor) skipSpace() {
	for c.pos < len(c.Src) {
		switch c.Src[c.pos] {
		case ' ', '\n', '\t', '\r':
			c.pos++
		default:
			return
		}
	}
}

// String consumes a string and returns what stands between its quotes, still
// escaped, as a slice of Src.
func (c *Cursor) String() ([]byte, bool) {
	if !c.Byte('"') {
		return nil, false
	}
	start := c.pos
	for {
		c.pos += plainRun(c.Src[c.pos:])
		if c.pos >= len(c.Src) {
			return nil, false
		}
		switch c.Src[c.pos] {
		case '"':
			c.pos++
			return c.Src[start : c.pos-1], true
		case '\\':
			if !c.skipEscape() {
				return nil, false
			}
		default: // a control character
			return nil, false
		}
	}
}

// skipEscape consumes one escape sequence.
func (c *Cursor) skipEscape() bool {
	rest := c.Src[c.pos:]
	if len(rest) > 1 && unescapes[rest[1]] != 0 {
		c.pos += 2
		return true
	}
	if _, ok := hex4(rest); ok {
		c.pos += 6
		return true
	}
	return false
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// flagSpecial flags, with the high bit of each byte, the bytes of x that need
// attention inside a string: the quote, the backslash and control characters.
// Only the lowest flag is exact, which is all that counts. Flipping bit 1 puts
// the quote (0x22) right above the controls, so that one comparison finds both.
func flagSpecial(x uint64) uint64 {
	t, s := x^(ones*0x02), x^(ones*'\\')
	return ((t - ones*0x21) & ^t) | ((s - ones) & ^s)
}

// plainRun counts the leading bytes of b that need no attention inside a string.
// Most strings are short, some are very long.
func plainRun(b []byte) int {
	n := 0
	for ; n < 16 && n+8 <= len(b); n += 8 {
		if f := flagSpecial(binary.LittleEndian.Uint64(b[n:])) & highs; f != 0 {
			return n + bits.TrailingZeros64(f)/8
		}
	}
	for ; n+32 <= len(b); n += 32 {
		w := b[n : n+32 : n+32]
		f0, f1 := flagSpecial(binary.LittleEndian.Uint64(w)), flagSpecial(binary.LittleEndian.Uint64(w[8:]))
		f2, f3 := flagSpecial(binary.LittleEndian.Uint64(w[16:])), flagSpecial(binary.LittleEndian.Uint64(w[24:]))
		if (f0|f1|f2|f3)&highs != 0 {
			break
		}
	}
	for ; n+8 <= len(b); n += 8 {
		if f := flagSpecial(binary.LittleEndian.Uint64(b[n:])) & highs; f != 0 {
			return n + bits.TrailingZeros64(f)/8
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// Plain consumes a string without escapes.
func (c *Cursor) Plain() ([]byte, bool) {
	if !c.Byte('"') {
		return nil, false
	}
	return c.plainFrom(c.pos)
}

// plainFrom consumes the rest of a string that has begun at start.
func (c *Cursor) plainFrom(start int) ([]byte, bool) {
	c.pos = start + plainRun(c.Src[start:])
	if c.pos >= len(c.Src) || c.Src[c.pos] != '"' {
		return nil, false
	}
	c.pos++
	return c.Src[start : c.pos-1], true
}

// Key consumes a member name without escapes and its colon. Names are short:
// eight bytes at a time find the end of most in one or two steps.
func (c *Cursor) Key() ([]byte, bool) {
	if !c.Byte('"') {
		return nil, false
	}
	start := c.pos
	end := start
	for end+8 <= len(c.Src) {
		if f := flagSpecial(binary.LittleEndian.Uint64(c.Src[end:])) & highs; f != 0 {
			end += bits.TrailingZeros64(f) / 8
			if c.Src[end] != '"' {
				return nil, false
			}
			c.pos = end + 1
			return c.Src[start:end], c.Byte(':')
		}
		end += 8
	}
	key, ok := c.plainFrom(start)
	return key, ok && c.Byte(':')
}

// Int consumes an unsigned integer of at most nine digits.
func (c *Cursor) Int() (int, bool) {
	c.skipSpace()
	start, n := c.pos, 0
	for c.pos < len(c.Src) && c.Src[c.pos]-'0' <= 9 {
		n = n*10 + int(c.Src[c.pos]-'0')
		c.pos++
	}
	digits := c.pos - start
	if digits == 0 || digits > 9 || (digits > 1 && c.Src[start] == '0') {
		return 0, false
	}
	if c.pos < len(c.Src) && (c.Src[c.pos] == '.' || c.Src[c.pos]|0x20 == 'e') {
		return 0, false
	}
	return n, true
}

// Skip consumes one value of any kind.
func (c *Cursor) Skip() bool { return c.skipValue(maxSkip) }

func (c *Cursor) skipValue(depth int) bool {
	switch c.Peek() {
	case '"':
		_, ok := c.String()
		return ok
	case '{':
		return depth > 0 && c.skipObject(depth-1)
	case '[':
		return depth > 0 && c.skipArray(depth-1)
	case 't':
		return c.Lit("true")
	case 'f':
		return c.Lit("false")
	case 'n':
		return c.Lit("null")
	}
	return c.skipNumber()
}

func (c *Cursor) skipObject(depth int) bool {
	c.pos++
	if c.Byte('}') {
		return true
	}
	for {
		if _, ok := c.String(); !ok || !c.Byte(':') || !c.skipValue(depth) {
			return false
		}
		if !c.Byte(',') {
			return c.Byte('}')
		}
	}
}

func (c *Cursor) skipArray(depth int) bool {
	c.pos++
	if c.Byte(']') {
		return true
	}
	for c.skipValue(depth) {
		if !c.Byte(',') {
			return c.Byte(']')
		}
	}
	return false
}

// skipNumber follows RFC 8259 §6: -? int frac? exp?
func (c *Cursor) skipNumber() bool {
	if c.isAt('-') {
		c.pos++
	}
	zero := c.isAt('0')
	if n := c.skipDigits(); n == 0 || (zero && n > 1) {
		return false
	}
	if c.isAt('.') {
		c.pos++
		if c.skipDigits() == 0 {
			return false
		}
	}
	if c.isAt('e') || c.isAt('E') {
		c.pos++
		if c.isAt('+') || c.isAt('-') {
			c.pos++
		}
		return c.skipDigits() > 0
	}
	return true
}

func (c *Cursor) isAt(b byte) bool { return c.pos < len(c.Src) && c.Src[c.pos] == b }

func (c *Cursor) skipDigits() int {
	start := c.pos
	for c.pos < len(c.Src) && c.Src[c.pos]-'0' <= 9 {
		c.pos++
	}
	return c.pos - start
}
