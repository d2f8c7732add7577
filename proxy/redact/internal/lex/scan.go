package lex

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Past returns the end of the run of the given bytes at a place, of at most so many.
func Past(text []byte, at int, any string, most int) int {
	for end := min(len(text), at+most); at < end && strings.IndexByte(any, text[at]) >= 0; {
		at++
	}
	return at
}

// IndexOrLength returns the index of the first c in b, or the length of b.
func IndexOrLength(b []byte, c byte) int {
	if n := bytes.IndexByte(b, c); n >= 0 {
		return n
	}
	return len(b)
}

// HasSuffixFold reports whether a text ends with suffix, in capital or small letters.
func HasSuffixFold(text []byte, suffix string) bool {
	return len(text) >= len(suffix) && bytes.EqualFold(text[len(text)-len(suffix):], []byte(suffix))
}

// IsSeveralLines reports whether a text, which may be escaped, has an end of a line in it.
func IsSeveralLines(text []byte) bool {
	return bytes.IndexByte(text, '\n') >= 0 || bytes.Contains(text, []byte(`\n`))
}

// UnquoteJSON returns the value of a JSON string's raw text, or the text itself
// when it is not valid.
func UnquoteJSON(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(raw)+`"`), &s) != nil {
		return string(raw)
	}
	return s
}
