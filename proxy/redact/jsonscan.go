package redact

import (
	"bytes"
	"encoding/json"
	"iter"
)

// jsonString is a string value in a text that holds JSON: the key it stands
// under, the key of the outermost object that it lies below, and where its raw
// text is.
type jsonString struct {
	key, top string
	value    span
}

// jsonStrings yields the string values in b. It is no parser: it takes JSON,
// SSE with JSON in it, and pieces of either, and never fails. Elements of an
// array stand under the array's key.
func jsonStrings(b []byte) iter.Seq[jsonString] {
	return func(yield func(jsonString) bool) {
		var key, top string
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '{', '[':
				depth++
			case '}', ']':
				depth = max(depth-1, 0)
			case '"':
				s := span{i + 1, stringEnd(b, i+1)}
				if i = s.end; isKey(b, i+1) {
					if key = string(b[s.start:s.end]); depth <= 1 {
						top = key
					}
				} else if !yield(jsonString{key, top, s}) {
					return
				}
			}
		}
	}
}

// stringEnd returns where the string that starts at i ends, or len(b).
func stringEnd(b []byte, i int) int {
	for i < len(b) {
		n := bytes.IndexAny(b[i:], `"\`)
		if n < 0 {
			return len(b)
		}
		if i += n; b[i] == '"' {
			return i
		}
		i += 2
	}
	return len(b)
}

// unquoted is the value of a JSON string's raw text, or the text itself when it
// is none.
func unquoted(raw []byte) string {
	var s string
	if json.Unmarshal([]byte(`"`+string(raw)+`"`), &s) != nil {
		return string(raw)
	}
	return s
}

func isKey(b []byte, i int) bool {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i < len(b) && b[i] == ':'
}
