package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// itemStart is the first line of every item. No other line looks like it: the
// lines of a body are indented further.
const itemStart = "    - request:\n"

// appendItem writes one element of the interactions sequence, in the layout of
// go-vcr v2: keys at 8 spaces, header names and literal lines at 12, header
// values at 16.
func appendItem(dst []byte, in Interaction) []byte {
	dst = appendBody(append(dst, bodyStart...), in.Request.Body)
	dst = appendBody(appendMiddle(dst, in), in.Response.Body)
	return appendEnd(dst, in)
}

// appendMiddle writes what stands between the two bodies of an item.
func appendMiddle(dst []byte, in Interaction) []byte {
	dst = append(dst, "        form: {}\n"...)
	dst = appendHeader(dst, withReserved(in))
	dst = appendField(dst, "url", in.Request.URL)
	dst = appendField(dst, "method", in.Request.Method)
	return append(append(dst, responseStart...), "        body: "...)
}

// appendEnd writes what follows the second body.
func appendEnd(dst []byte, in Interaction) []byte {
	dst = appendHeader(dst, in.Response.Header)
	dst = appendField(dst, "status", statusText(in.Response.Status))
	dst = append(dst, "        code: "...)
	dst = strconv.AppendInt(dst, int64(in.Response.Status), 10)
	dst = append(dst, "\n        duration: "...)
	return append(append(dst, in.Duration.String()...), '\n')
}

// bodyStart is what stands before the first body of an item.
const bodyStart = itemStart + "        body: "

const responseStart = "      response:\n"

func appendField(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, "        "...), name...), ": "...)
	return append(appendQuoted(dst, value), '\n')
}

// statusText returns go-vcr's status line text. HTTP/2 sends none, so it is
// derived.
func statusText(code int) string {
	if code == 0 {
		return ""
	}
	return strconv.Itoa(code) + " " + http.StatusText(code)
}

// maxImplicitKey is the longest quoted key that may stand before its colon. YAML
// allows 1024 characters, yaml.v3 stops at 128 when it writes.
const maxImplicitKey = 128

func appendHeader(dst []byte, h http.Header) []byte {
	if len(h) == 0 {
		return append(dst, "        headers: {}\n"...)
	}
	dst = append(dst, "        headers:\n"...)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		dst = appendValues(appendKey(dst, name), h[name])
	}
	return dst
}

func appendKey(dst []byte, name string) []byte {
	start := len(dst)
	dst = appendQuoted(append(dst, bodyIndent...), name)
	if len(dst)-start <= len(bodyIndent)+maxImplicitKey {
		return append(dst, ':')
	}
	dst = appendQuoted(append(append(dst[:start], bodyIndent...), "? "...), name)
	return append(append(append(dst, '\n'), bodyIndent...), ':')
}

func appendValues(dst []byte, values []string) []byte {
	if len(values) == 0 {
		return append(dst, " []\n"...)
	}
	dst = append(dst, '\n')
	for _, v := range values {
		dst = append(appendQuoted(append(dst, "                - "...), v), '\n')
	}
	return dst
}

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
		_ = yield([]byte(bodyStart)) && body("request body", oneWindow(in.Request.Body)) &&
			piece(appendMiddle((*buffer)[:0], in)) &&
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
		s := scalar{
			opening: literalStyles[breaks],
			cut:     func(_ []byte, size int) int { return size },
			encode:  func(dst []byte, p part) []byte { return appendLines(dst, p.text, p.beginsLine) },
			holds:   func(text []byte, p part) bool { return isLinesOf(text, p.text, p.beginsLine) },
		}
		if breaks == 0 {
			s.closing = "\n"
		}
		return s
	case isText:
		return scalar{`"`, "\"\n", cutBetweenRunes, encodeEscaped, holdsEscaped}
	}
	return scalar{
		opening: binaryTag, closing: "\"\n",
		cut:    func(_ []byte, size int) int { return max(size-size%3, 3) }, // base64 needs no padding there
		encode: func(dst []byte, p part) []byte { return base64.StdEncoding.AppendEncode(dst, p.text) },
		holds:  holdsBinary,
	}
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

func cutBetweenRunes(body []byte, size int) int {
	for size < len(body) && !utf8.RuneStart(body[size]) {
		size++
	}
	return size
}

func encodeEscaped(dst []byte, p part) []byte {
	dst, _ = appendEscaped(dst, p.text)
	return dst
}

func holdsEscaped(text []byte, p part) bool {
	c := cursor{b: append(text[:len(text):len(text)], "\"\n"...), ok: true}
	return bytes.Equal(c.readEscaped(), p.text) && c.ok && string(c.b) == "\n"
}

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
	if back.Request.Body, back.Response.Body = in.Request.Body, in.Response.Body; 0 <= in.Drained &&
		in.Drained <= size {
		back.Drained = in.Drained
	}
	return firstDifference(in, back), nil
}
