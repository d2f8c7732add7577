package script

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/wires/tree"
)

// Object is a JSON object in wire order: names and values alternate.
type Object []any

// Array is a JSON array.
type Array []any

// Raw is JSON text that stands as it is. Of a constant it costs nothing.
type Raw string

// JSON returns v without white space. Objects keep their order, strings their
// characters (no HTML escapes), json.RawMessage and a node of a request their bytes.
func JSON(v any) []byte {
	return Compose(func(out []byte) []byte { return AppendJSON(out, v) })
}

// Compose returns what write appends to an empty slice, in a slice of its size.
func Compose(write func(out []byte) []byte) []byte {
	room := rooms.Get().(*[]byte)
	*room = write((*room)[:0])
	doc := bytes.Clone(*room)
	if cap(*room) <= maxRoom {
		rooms.Put(room)
	}
	return doc
}

// rooms are where documents are written before their size is known.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

const maxRoom = 64 << 10

// AppendJSON appends what JSON returns.
func AppendJSON(out []byte, v any) []byte {
	switch v := v.(type) {
	case Object:
		out = append(out, '{')
		if len(v) > 0 {
			out = AppendJSON(append(AppendJSON(out, v[0]), ':'), v[1])
			out = AppendMembers(out, v[2:]...)
		}
		return append(out, '}')
	case Array:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendJSON(out, item)
		}
		return append(out, ']')
	case *tree.Node:
		if v == nil {
			return append(out, "null"...)
		}
		return append(out, v.Raw()...)
	case json.RawMessage:
		return append(out, v...)
	case Raw:
		return append(out, v...)
	case string:
		return appendString(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case bool:
		return strconv.AppendBool(out, v)
	case nil:
		return append(out, "null"...)
	}
	return append(out, plainJSON(v)...)
}

// AppendMembers appends members to an object that has one already.
func AppendMembers(out []byte, members ...any) []byte {
	for i := 0; i < len(members); i += 2 {
		out = AppendJSON(append(out, ','), members[i])
		out = AppendJSON(append(out, ':'), members[i+1])
	}
	return out
}

// appendString spares strings of plain ASCII, nearly all of them, the encoder.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			// What only encoding/json escapes or replaces.
			if strings.ContainsAny(s, "\u2028\u2029") || !utf8.ValidString(s) {
				return append(out, plainJSON(s)...)
			}
			out, _ = jsontext.AppendQuote(out, s) // it is valid
			return out
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}

func plainJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only strings, numbers, booleans and nil come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// ParseOwn is the tree of a text that the simulator wrote.
func ParseOwn(text []byte) *tree.Node {
	root, _ := tree.ParseStrict(text, tree.MaxDepth)
	return root
}

// WithMembers is the object with other values for some of its members: names and raw
// values alternate. What it lacks is added.
func WithMembers(object *tree.Node, changes ...string) []byte {
	out := Object{}
	for i, name := range object.Names() {
		out = append(out, name, object.Items()[i])
	}
	for change := range slices.Chunk(changes, 2) {
		name, value, found := change[0], Raw(change[len(change)-1]), false
		for i := 0; i < len(out); i += 2 {
			if out[i] == name {
				out[i+1], found = value, true
			}
		}
		if !found {
			out = append(out, name, value)
		}
	}
	return JSON(out)
}
