package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// imageTypes are the types of images that all providers accept.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// convertResult turns a server's answer into a result for the model: text in order,
// images and files as parts, and a description of everything else.
func convertResult(call transcript.ToolCall, res *sdk.CallToolResult) transcript.ToolResult {
	var c converter
	for _, content := range res.Content {
		c.addContent(content)
	}
	c.addStructured(exactText(res.Meta, metaContent, res.StructuredContent))
	out := transcript.ToolResult{
		ToolUseID: call.ID, Content: strings.Join(c.texts, "\n"), Parts: c.parts, IsError: res.IsError,
	}
	if out.IsError && strings.TrimSpace(out.Content) == "" {
		out.Content = fmt.Sprintf("tool %s failed without a message", call.Name)
	}
	return out
}

type converter struct {
	texts []string
	parts []transcript.Part
}

func (c *converter) addText(format string, args ...any) {
	c.texts = append(c.texts, fmt.Sprintf(format, args...))
}

func (c *converter) addContent(content sdk.Content) {
	switch v := content.(type) {
	case *sdk.TextContent:
		c.texts = append(c.texts, v.Text)
	case *sdk.ImageContent:
		c.addData("an image", v.MIMEType, v.Data)
	case *sdk.AudioContent:
		c.addData("a sound", v.MIMEType, v.Data)
	case *sdk.EmbeddedResource:
		c.addResource(v.Resource)
	case *sdk.ResourceLink:
		c.addText("[resource %s: %s]", v.URI, strings.Join(nonEmpty(v.Name, v.Title, v.MIMEType, v.Description), ", "))
	default:
		c.addText("[left out: content of a kind that tools do not return]")
	}
}

func nonEmpty(words ...string) []string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

func (c *converter) addResource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
		c.addText("[left out: a resource without contents]")
	case r.Blob != nil:
		c.addData("resource "+r.URI, r.MIMEType, r.Blob)
	default:
		c.addText("[resource %s]\n%s", r.URI, r.Text)
	}
}

// addData adds an image or a file. An image of another format is left out, whatever
// its declared type: providers would refuse every later request for it.
func (c *converter) addData(what, mediaType string, data []byte) {
	switch seen := http.DetectContentType(data); {
	case len(data) == 0:
		c.addText("[left out: %s without data]", what)
	case imageTypes[seen]:
		c.parts = append(c.parts, transcript.Part{Type: "image", MediaType: seen, Data: data})
	case strings.HasPrefix(mediaType, "image/"), mediaType == "":
		c.addText(
			"[left out: %s, %s of %d bytes; images are PNG, JPEG, GIF or WebP]", what,
			firstNonEmpty(mediaType, "something"), len(data),
		)
	default:
		c.parts = append(c.parts, transcript.Part{Type: "file", MediaType: mediaType, Data: data})
	}
}

func firstNonEmpty(words ...string) string { return append(nonEmpty(words...), "")[0] }

// addStructured adds structured content unless the text has it already.
func (c *converter) addStructured(value []byte) {
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return
	}
	for _, text := range c.texts {
		if sameJSON([]byte(text), value) {
			return
		}
	}
	c.texts = append(c.texts, string(value))
}

func sameJSON(a, b []byte) bool {
	decode := func(data []byte) (v any, ok bool) {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		ok = dec.Decode(&v) == nil && !dec.More()
		return v, ok
	}
	x, okX := decode(a)
	y, okY := decode(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

// clipText shortens a text to limit bytes without splitting a character.
func clipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
