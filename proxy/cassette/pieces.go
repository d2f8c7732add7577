package cassette

import (
	"bytes"
	"encoding/base64"
	"iter"
	"slices"
	"sync"
	"unicode/utf8"
)

// pieceSize is how much of a body is encoded at once, in bytes.
const pieceSize = 256 << 10

// buffers are what pieces are encoded into.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// itemPieces yields what appendItem writes, of a body at most size bytes at once. A piece
// is valid until the next one. With changed it reads back each part of a body, and says there which
// body would be read as another one.
func itemPieces(in Interaction, size int, changed *string) iter.Seq[[]byte] {
	return piecesWithReply(in, oneWindow(in.Response.Body), size, changed)
}

func oneWindow(body []byte) iter.Seq[[]byte] { return slices.Values([][]byte{body}) }

// piecesWithReply is itemPieces with the body of the response in windows: see [Writer.AppendLarge].
func piecesWithReply(in Interaction, reply iter.Seq[[]byte], size int, changed *string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		piece := func(b []byte) bool { *buffer = b; return yield(b) }
		body := func(name string, windows iter.Seq[[]byte]) bool {
			s := newScalar(windows)
			if !yield([]byte(s.opening)) {
				return false
			}
			for window := range windows {
				for part := range s.parts(window, size) {
					text := s.encode((*buffer)[:0], part)
					if changed != nil && !s.holds(text, part) {
						*changed = name
					}
					if !piece(text) {
						return false
					}
				}
			}
			return yield([]byte(s.closing))
		}
		_ = yield([]byte(bodyStart)) && body("request body", oneWindow(in.Request.Body)) && piece(appendMiddle((*buffer)[:0], in)) &&
			body("response body", reply) && piece(appendEnd((*buffer)[:0], in))
	}
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

// newScalar returns the way in which appendBody writes a body, given in windows.
func newScalar(windows iter.Seq[[]byte]) scalar {
	isLiteral, isText, breaks := true, true, 0
	for window := range windows {
		isLiteral = isLiteral && literalSafe(window)
		isText = isText && (isLiteral || utf8.Valid(window))
		breaks = breakStyle(window)
	}
	switch {
	case isLiteral:
		s := scalar{opening: literalStyles[breaks], cut: cutAnywhere, encode: encodeLines, holds: holdsLines}
		if breaks == 0 {
			s.closing = "\n"
		}
		return s
	case isText:
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

// changedPart names what a reader would read otherwise of an interaction, apart from its bodies, "" if
// nothing. It reads back an item without the bodies. size is the length of the response's body.
func changedPart(in Interaction, size int) (string, error) {
	if err := checkTimeline(in.Timeline, size); err != nil {
		return "", err
	}
	rest := in
	rest.Request.Body, rest.Response.Body, rest.Timeline, rest.Drained = nil, nil, nil, 0
	back, err := decodeAnyItem(appendItem(nil, rest))
	if err != nil {
		return "", err
	}
	if back.Timeline, err = decodeTimeline(encodeTimeline(in.Timeline)); err != nil {
		return "", err
	}
	if back.Request.Body, back.Response.Body = in.Request.Body, in.Response.Body; 0 <= in.Drained && in.Drained <= size {
		back.Drained = in.Drained
	}
	return firstDifference(in, back), nil
}
