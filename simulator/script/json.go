package script

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object in wire order: names and values alternate.
type Object []any

// Array is a JSON array.
type Array []any

// JSON returns v without white space. Objects keep their order, strings their
// characters (no HTML escapes), json.RawMessage its bytes.
func JSON(v any) []byte { return appendJSON(nil, v) }

func appendJSON(out []byte, v any) []byte {
	switch v := v.(type) {
	case Object:
		out = append(out, '{')
		for i := 0; i < len(v); i += 2 {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, v[i])
			out = append(out, ':')
			out = appendJSON(out, v[i+1])
		}
		return append(out, '}')
	case Array:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, item)
		}
		return append(out, ']')
	case json.RawMessage:
		return append(out, v...)
	}
	return append(out, plainJSON(v)...)
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
