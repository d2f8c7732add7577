package cassette

import (
	"bytes"
	"encoding/base64"
	"iter"
	"unicode/utf8"
)

const (
	// largeItem is the size of bodies, in bytes, from which an item is written in pieces:
	// encoded as a whole it takes as much memory as its bodies once more.
	largeItem = 4 << 20
	// pieceSize is how much of a body is encoded at once, in bytes.
	pieceSize = 256 << 10
)

func isLarge(in Interaction) bool { return len(in.Request.Body)+len(in.Response.Body) > largeItem }

// itemPieces yields what appendItem writes, of a body at most size bytes at once. A piece
// is valid until the next one.
func itemPieces(in Interaction, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		_ = yield([]byte(bodyStart)) && yieldBody(in.Request.Body, size, yield) &&
			yield(appendMiddle(nil, in)) && yieldBody(in.Response.Body, size, yield) &&
			yield(appendEnd(nil, in))
	}
}

// yieldBody yields what appendBody writes, and reports whether more is wanted.
func yieldBody(body []byte, size int, yield func([]byte) bool) bool {
	s := newScalar(body)
	if !yield([]byte(s.opening)) {
		return false
	}
	var buffer []byte
	for part := range s.parts(body, size) {
		if buffer = s.encode(buffer[:0], part); !yield(buffer) {
			return false
		}
	}
	return yield([]byte(s.closing))
}

// scalar is one of the ways in which a body is written: each part of it on its own.
type scalar struct {
	opening, closing string
	cut              func(body []byte, size int) int // the length of a first part
	encode           func(dst []byte, part part) []byte
	holds            func(text []byte, part part) bool // whether text is what encode wrote
}

// part is a part of a body.
type part struct {
	text       []byte
	beginsLine bool
}

// newScalar returns the way in which appendBody writes a body.
func newScalar(body []byte) scalar {
	switch {
	case literalSafe(body):
		s := scalar{opening: literalStyles[breakStyle(body)], cut: cutAnywhere, encode: encodeLines, holds: holdsLines}
		if breakStyle(body) == 0 {
			s.closing = "\n"
		}
		return s
	case utf8.Valid(body):
		return scalar{`"`, "\"\n", cutBetweenRunes, encodeEscaped, holdsEscaped}
	}
	return scalar{binaryTag, "\"\n", cutInThrees, encodeBinary, holdsBinary}
}

// parts cuts a body into parts of at most size bytes, or a few more.
func (s scalar) parts(body []byte, size int) iter.Seq[part] {
	return func(yield func(part) bool) {
		for beginsLine := true; len(body) > 0; {
			n := len(body)
			if n > size {
				n = min(s.cut(body, size), len(body))
			}
			if !yield(part{body[:n], beginsLine}) {
				return
			}
			beginsLine = body[n-1] == '\n'
			body = body[n:]
		}
	}
}

func cutAnywhere(_ []byte, size int) int { return size }

func cutBetweenRunes(body []byte, size int) int {
	for size < len(body) && !utf8.RuneStart(body[size]) {
		size++
	}
	return size
}

// cutInThrees cuts where base64 needs no padding.
func cutInThrees(_ []byte, size int) int { return max(size-size%3, 3) }

func encodeLines(dst []byte, p part) []byte { return appendLines(dst, p.text, p.beginsLine) }

func holdsLines(text []byte, p part) bool { return isLinesOf(text, p.text, p.beginsLine) }

func encodeEscaped(dst []byte, p part) []byte {
	dst, _ = appendEscaped(dst, p.text)
	return dst
}

func holdsEscaped(text []byte, p part) bool {
	c := cursor{b: append(text[:len(text):len(text)], "\"\n"...), ok: true}
	return bytes.Equal(c.readEscaped(), p.text) && c.ok && string(c.b) == "\n"
}

func encodeBinary(dst []byte, p part) []byte { return base64.StdEncoding.AppendEncode(dst, p.text) }

func holdsBinary(text []byte, p part) bool {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	return err == nil && bytes.Equal(raw, p.text)
}

// canWriteInPieces reads back what itemPieces yields, and reports whether it is in: each
// part of the bodies on its own, and the rest as an item without bodies.
func canWriteInPieces(in Interaction) bool {
	rest := in
	rest.Request.Body, rest.Response.Body = nil, nil
	back, ok := decodeItem(appendItem(nil, rest))
	back.Request.Body, back.Response.Body = in.Request.Body, in.Response.Body
	return ok && takeReserved(&back) == nil && firstDifference(in, back) == "" &&
		readsBack(in.Request.Body, pieceSize) && readsBack(in.Response.Body, pieceSize)
}

// readsBack reports whether what yieldBody yields of a body holds it.
func readsBack(body []byte, size int) bool {
	s := newScalar(body)
	var buffer []byte
	for p := range s.parts(body, size) {
		if buffer = s.encode(buffer[:0], p); !s.holds(buffer, p) {
			return false
		}
	}
	return true
}
