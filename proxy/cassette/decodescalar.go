package cassette

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"unicode/utf8"
)

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
