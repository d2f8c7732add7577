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

// cursor reads an item exactly as appendItem writes it. Anything else clears ok
// and the caller asks yaml.v3.
type cursor struct {
	b  []byte
	ok bool
	// like holds the bodies that are expected, request and response, or nothing.
	// A body that reads the same is that one instead of a copy.
	like [][]byte
	// room is what a body may be written over.
	room []byte
	// bare leaves headers out.
	bare bool
}

// decodeItem is appendItem backwards.
func decodeItem(item []byte) (in Interaction, ok bool) {
	return (&cursor{b: item, ok: true}).interaction()
}

// decodeLike is decode for an item that is expected to say like, whose bodies it
// may return: a large one is compared and not copied.
func decodeLike(item []byte, like Interaction) (Interaction, error) {
	c := &cursor{b: item, ok: true, like: [][]byte{like.Request.Body, like.Response.Body}}
	if in, ok := c.interaction(); ok {
		return in, takeReserved(&in)
	}
	return decode(item)
}

func (c *cursor) interaction() (in Interaction, ok bool) {
	c.request(&in)
	c.response(&in)
	return in, c.ok && len(c.b) == 0
}

// decodeRequest is decodeItem for the request alone.
func decodeRequest(item []byte) (Request, bool) {
	c, in := &cursor{b: item, ok: true}, Interaction{}
	c.request(&in)
	if c.ok {
		in.Request.Proto = in.Request.Header.Get(hdrReqProto)
		maps.DeleteFunc(in.Request.Header, func(name string, _ []string) bool { return Reserved(name) })
	}
	return in.Request, c.ok
}

// decodeAsked is decodeRequest without the header; the body is written over
// room.
func decodeAsked(item, room []byte) (Request, bool) {
	c, in := &cursor{b: item, ok: true, room: room, bare: true}, Interaction{}
	c.request(&in)
	return in.Request, c.ok
}

func (c *cursor) request(in *Interaction) {
	c.lit(itemStart)
	in.Request.Body = c.body()
	c.lit("        form: {}\n")
	in.Request.Header = c.header()
	in.Request.URL = c.field("url")
	in.Request.Method = c.field("method")
}

func (c *cursor) response(in *Interaction) {
	c.lit(responseStart)
	in.Response.Body = c.body()
	in.Response.Header = c.header()
	c.field("status")
	c.lit("        code: ")
	var err error
	in.Response.Status, err = strconv.Atoi(c.rest())
	c.ok = c.ok && err == nil
	c.lit("        duration: ")
	in.Duration, err = time.ParseDuration(c.rest())
	c.ok = c.ok && err == nil
}

func (c *cursor) lit(s string) {
	if !c.has(s) {
		c.ok = false
		return
	}
	c.b = c.b[len(s):]
}

func (c *cursor) has(s string) bool { return len(c.b) >= len(s) && string(c.b[:len(s)]) == s }

// rest reads to the end of the line.
func (c *cursor) rest() string {
	line, rest, found := bytes.Cut(c.b, []byte("\n"))
	c.b, c.ok = rest, c.ok && found
	return string(line)
}

func (c *cursor) field(name string) string {
	c.lit("        ")
	c.lit(name)
	c.lit(": ")
	v := string(c.quoted())
	c.lit("\n")
	return v
}

func (c *cursor) header() http.Header {
	h := http.Header{}
	c.lit("        headers:")
	if c.has(" {}\n") {
		c.lit(" {}\n")
		return h
	}
	c.lit("\n")
	if c.bare {
		_, end := blockSize(c.b)
		c.b = c.b[end:]
		return nil
	}
	for c.ok && c.has(bodyIndent) {
		c.lit(bodyIndent)
		name := string(c.quoted())
		c.lit(":")
		h[name] = c.values()
	}
	return h
}

func (c *cursor) values() []string {
	if c.has(" []\n") {
		c.lit(" []\n")
		return []string{}
	}
	c.lit("\n")
	var values []string
	for c.ok && c.has("                - ") {
		c.lit("                - ")
		values = append(values, string(c.quoted()))
		c.lit("\n")
	}
	return values
}

// body reads a literal block or a quoted scalar, and copies it.
func (c *cursor) body() []byte {
	c.lit("        body: ")
	var like []byte
	if len(c.like) > 0 {
		like, c.like = c.like[0], c.like[1:]
	}
	for keep, style := range [...]string{"|-\n", "|\n", "|+\n"} {
		if c.has(style) {
			c.lit(style)
			return c.literal(keep, like)
		}
	}
	b := c.quoted()
	c.lit("\n")
	if like != nil && bytes.Equal(b, like) {
		return like
	}
	return bytes.Clone(b)
}

// literal reads the lines of a block; keep is 0, 1 or 2 for none, one or all of
// its final line feeds.
func (c *cursor) literal(keep int, like []byte) []byte {
	size, end := blockSize(c.b)
	block := c.b[:end]
	c.b = c.b[end:]
	if like != nil && sameBlock(block, keep, like) {
		return like
	}
	out := slices.Grow(c.room[:0], size)
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
	return out
}

// sameBlock reports whether literal would read want.
func sameBlock(block []byte, keep int, want []byte) bool {
	rest := want
	for len(block) > 0 {
		line := block[:bytes.IndexByte(block, '\n')+1]
		block = block[len(line):]
		if len(line) > 1 {
			line = line[len(bodyIndent):]
		}
		if keep == 0 && len(block) == 0 {
			line = line[:len(line)-1]
		}
		if !bytes.HasPrefix(rest, line) {
			return false
		}
		rest = rest[len(line):]
	}
	return len(rest) == 0 && keep == breakStyle(want)
}

// breakStyle is the style that says how many line feeds end a body: none, one,
// or more.
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

// quoted reads a double-quoted or !!binary scalar. The result may share memory
// with the item.
func (c *cursor) quoted() []byte {
	if c.has(binaryTag) {
		c.lit(binaryTag)
		text, rest, found := bytes.Cut(c.b, []byte(`"`))
		raw, err := base64.StdEncoding.DecodeString(string(text))
		c.b, c.ok = rest, c.ok && found && err == nil
		return raw
	}
	c.lit(`"`)
	if n := bytes.IndexAny(c.b, "\"\\\n"); n >= 0 && c.b[n] == '"' {
		s := c.b[:n]
		c.b = c.b[n+1:]
		return s
	}
	return c.escaped()
}

// escaped reads the rest of a quoted scalar that holds escapes.
func (c *cursor) escaped() []byte {
	line := c.b[:max(bytes.IndexByte(c.b, '\n'), 0)]
	out := make([]byte, 0, len(line))
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

// unescape reads what follows a backslash and says how long it was; 0 when it
// is no escape of ours.
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
