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

// MemberOf returns the top-level member of a JSON object as it stands, nil when
// there is none. Of members with one name the last counts.
func MemberOf(object []byte, name string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return nil
	}
	return all[name]
}
