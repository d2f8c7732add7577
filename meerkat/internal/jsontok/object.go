package jsontok

import "encoding/json"

// IsObject reports whether b is one valid JSON object.
func IsObject(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return json.Valid(b)
		}
		return false
	}
	return false
}
