package script

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Object is a JSON object in wire order: names and values alternate.
type Object []any

// Array is a JSON array.
type Array []any

// JSON returns v without white space. Objects keep their order, strings their
// characters (no HTML escapes), json.RawMessage its bytes.
func JSON(v any) []byte { return AppendJSON(make([]byte, 0, 512), v) }

// AppendJSON appends what JSON returns.
func AppendJSON(out []byte, v any) []byte {
	switch v := v.(type) {
	case Object:
		out = append(out, '{')
		for i := 0; i < len(v); i += 2 {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendJSON(out, v[i])
			out = append(out, ':')
			out = AppendJSON(out, v[i+1])
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
	case json.RawMessage:
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

// appendString spares strings of plain ASCII, nearly all of them, the encoder.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(out, plainJSON(s)...)
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
