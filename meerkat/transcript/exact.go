package transcript

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// exactSuffix names the base64 twin of a member that JSON text cannot hold.
const exactSuffix = "_exact"

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string with the escapes of serde_json: only
// the quote, the backslash and control characters. Bytes that are not UTF-8
// become U+FFFD one by one.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				dst = appendEscape(append(dst, s[start:i]...), c)
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			start = i + 1
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// readableJSON returns the valid compact JSON in UTF-8 that stands for value
// in a file: value itself wherever it can. What is not JSON at all is shown as
// a JSON string, which no tool takes for an argument object.
func readableJSON(value []byte) []byte {
	var flat bytes.Buffer
	if err := json.Compact(&flat, value); err != nil {
		return appendString(nil, string(value))
	}
	return bytes.ToValidUTF8(flat.Bytes(), []byte("\uFFFD"))
}

// sameJSON reports whether two compact values differ at most in the escaping
// of HTML, which json.Marshal adds behind our back.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	json.HTMLEscape(&x, a)
	json.HTMLEscape(&y, b)
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// sameText reports whether readable is how exact looks in a file.
func sameText(exact, readable string) bool {
	return bytes.Equal(appendString(nil, exact), appendString(nil, readable))
}
