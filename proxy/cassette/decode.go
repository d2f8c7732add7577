package cassette

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"time"
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

// decodeAsked is decodeRequest without the header. It writes the body over room.
func decodeAsked(item, room []byte) (Request, bool) {
	c, in := &cursor{b: item, ok: true, scratch: room, skipHeaders: true}, Interaction{}
	c.readRequest(&in)
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
