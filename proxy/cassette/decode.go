package cassette

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// cursor reads an item exactly as appendItem writes it. At anything else it
// clears ok, and the caller uses yaml.v3.
type cursor struct {
	b  []byte
	ok bool
	// scratch is memory that a body may be written to.
	scratch []byte
	// skipHeaders leaves headers out.
	skipHeaders bool
	// isOwned says that bodies are decoded in the memory of the item, which is then lost.
	isOwned bool
}

// decodeItem is the inverse of appendItem.
func decodeItem(item []byte) (in Interaction, ok bool) {
	return (&cursor{b: item, ok: true}).readInteraction()
}

// decodeOwned is decodeItem for an item whose memory the interaction takes over: a large
// body is in memory once.
func decodeOwned(item []byte) (in Interaction, ok bool) {
	return (&cursor{b: item, ok: true, isOwned: true}).readInteraction()
}

func (c *cursor) readInteraction() (in Interaction, ok bool) {
	c.readRequest(&in)
	c.readResponse(&in)
	return in, c.ok && len(c.b) == 0
}

// decodeRequest is decodeItem for the request alone.
func decodeRequest(item []byte) (Request, bool) {
	c, in := &cursor{b: item, ok: true}, Interaction{}
	c.readRequest(&in)
	if c.ok {
		in.Request.Proto = in.Request.Header.Get(hdrReqProto)
		maps.DeleteFunc(in.Request.Header, func(name string, _ []string) bool { return Reserved(name) })
	}
	return in.Request, c.ok
}

func (c *cursor) readRequest(in *Interaction) {
	c.expectText(itemStart)
	in.Request.Body = c.readBody()
	c.expectText("        form: {}\n")
	in.Request.Header = c.readHeader()
	in.Request.URL = c.readField("url")
	in.Request.Method = c.readField("method")
}

func (c *cursor) readResponse(in *Interaction) {
	c.expectText(responseStart)
	in.Response.Body = c.readBody()
	in.Response.Header = c.readHeader()
	c.readField("status")
	c.expectText("        code: ")
	var err error
	in.Response.Status, err = strconv.Atoi(c.restOfLine())
	c.ok = c.ok && err == nil
	c.expectText("        duration: ")
	in.Duration, err = time.ParseDuration(c.restOfLine())
	c.ok = c.ok && err == nil
}

func (c *cursor) expectText(s string) {
	if !c.hasPrefix(s) {
		c.ok = false
		return
	}
	c.b = c.b[len(s):]
}

func (c *cursor) hasPrefix(s string) bool { return len(c.b) >= len(s) && string(c.b[:len(s)]) == s }

// restOfLine reads to the end of the line.
func (c *cursor) restOfLine() string {
	line, rest, found := bytes.Cut(c.b, []byte("\n"))
	c.b, c.ok = rest, c.ok && found
	return string(line)
}

func (c *cursor) readField(name string) string {
	c.expectText("        ")
	c.expectText(name)
	c.expectText(": ")
	v := string(c.readQuoted())
	c.expectText("\n")
	return v
}

func (c *cursor) readHeader() http.Header {
	h := http.Header{}
	c.expectText("        headers:")
	if c.hasPrefix(" {}\n") {
		c.expectText(" {}\n")
		return h
	}
	c.expectText("\n")
	if c.skipHeaders {
		_, end := blockSize(c.b)
		c.b = c.b[end:]
		return nil
	}
	for c.ok && c.hasPrefix(bodyIndent) {
		c.expectText(bodyIndent)
		name := string(c.readQuoted())
		c.expectText(":")
		h[name] = c.readValues()
	}
	return h
}

func (c *cursor) readValues() []string {
	if c.hasPrefix(" []\n") {
		c.expectText(" []\n")
		return []string{}
	}
	c.expectText("\n")
	var values []string
	for c.ok && c.hasPrefix("                - ") {
		c.expectText("                - ")
		values = append(values, string(c.readQuoted()))
		c.expectText("\n")
	}
	return values
}

// readBody reads a literal block or a quoted scalar, and copies it.
func (c *cursor) readBody() []byte {
	c.expectText("        body: ")
	for keep, style := range literalStyles {
		if c.hasPrefix(style) {
			c.expectText(style)
			return c.readLiteral(keep)
		}
	}
	b := c.readQuoted()
	c.expectText("\n")
	if c.isOwned {
		return slices.Clip(b)
	}
	return bytes.Clone(b)
}

// readLiteral reads the lines of a block; keep is 0, 1 or 2 for none, one or all
// of its final line feeds.
func (c *cursor) readLiteral(keep int) []byte {
	size, end := blockSize(c.b)
	block := c.b[:end]
	c.b = c.b[end:]
	out := c.room(block, size)
	for len(block) > 0 {
		n := bytes.IndexByte(block, '\n') + 1
		if n > 1 {
			out = append(out, block[len(bodyIndent):n]...)
		} else {
			out = append(out, '\n')
		}
		block = block[n:]
	}
	breaks := len(out) - len(bytes.TrimRight(out, "\n"))
	c.ok = c.ok && (keep == 2 && breaks > 1 || keep < 2 && breaks == 1)
	if keep == 0 && len(out) > 0 {
		out = out[:len(out)-1]
	}
	if c.isOwned {
		return slices.Clip(out) // another body follows in the same memory
	}
	return out
}

// room returns an empty slice for a text of at most size bytes that is written in raw.
func (c *cursor) room(raw []byte, size int) []byte {
	if c.isOwned {
		return raw[:0] // no text is longer than it is written
	}
	return slices.Grow(c.scratch[:0], size)
}

// isLinesOf reports whether block is what appendLines writes for want.
func isLinesOf(block, want []byte, beginsLine bool) bool {
	for line := range bytes.Lines(block) {
		isIndented := true
		if beginsLine && line[0] != '\n' {
			line, isIndented = bytes.CutPrefix(line, []byte(bodyIndent))
		}
		if beginsLine = true; !isIndented || !bytes.HasPrefix(want, line) {
			return false
		}
		want = want[len(line):]
	}
	return len(want) == 0
}

// breakStyle returns the style for the number of line feeds at the end of a
// body: none, one, or more.
func breakStyle(body []byte) int { return min(len(body)-len(bytes.TrimRight(body, "\n")), 2) }

// blockSize returns the length of a block's text and of its lines in the file.
func blockSize(b []byte) (size, end int) {
	for end < len(b) {
		n := bytes.IndexByte(b[end:], '\n') + 1
		if n == 0 || n > 1 && !bytes.HasPrefix(b[end:], []byte(bodyIndent)) {
			break
		}
		if size += n; n > 1 {
			size -= len(bodyIndent)
		}
		end += n
	}
	return size, end
}

const binaryTag = `!!binary "`

// readQuoted reads a double-quoted or !!binary scalar. The result may share
// memory with the item.
func (c *cursor) readQuoted() []byte {
	if c.hasPrefix(binaryTag) {
		c.expectText(binaryTag)
		text, rest, found := bytes.Cut(c.b, []byte(`"`))
		raw, err := base64.StdEncoding.AppendDecode([]byte{}, text)
		c.b, c.ok = rest, c.ok && found && err == nil
		return raw
	}
	c.expectText(`"`)
	if n := bytes.IndexAny(c.b, "\"\\\n"); n >= 0 && c.b[n] == '"' {
		s := c.b[:n]
		c.b = c.b[n+1:]
		return s
	}
	return c.readEscaped()
}

// readEscaped reads the rest of a quoted scalar that contains escapes.
func (c *cursor) readEscaped() []byte {
	line := c.b[:max(bytes.IndexByte(c.b, '\n'), 0)]
	out := line[:0]
	if !c.isOwned {
		out = make([]byte, 0, len(line))
	}
	for i := 0; i < len(line); {
		if line[i] == '"' {
			c.b = c.b[i+1:]
			return out
		}
		if line[i] == '\\' {
			r, n := unescape(line[i+1:])
			if n == 0 {
				break
			}
			out, i = utf8.AppendRune(out, r), i+1+n
			continue
		}
		run := i
		for i < len(line) && line[i] != '"' && line[i] != '\\' {
			i++
		}
		out = append(out, line[run:i]...)
	}
	c.ok = false
	return nil
}

// unescape reads what follows a backslash and returns its length; 0 when
// appendQuoted does not write such an escape.
func unescape(b []byte) (rune, int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch b[0] {
	case '"', '\\':
		return rune(b[0]), 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'x':
		return hexRune(b[1:], 2)
	case 'u':
		return hexRune(b[1:], 4)
	}
	return 0, 0
}

func hexRune(b []byte, digits int) (rune, int) {
	if len(b) < digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[:digits]), 16, 16)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), 1 + digits
}
