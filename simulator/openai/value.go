package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// kind is the type of a JSON value as the API names it in its errors. Kinds
// are bits: a set of them says what may stand in one place.
type kind uint8

// The kinds. A whole number is an integer, any other a decimal.
const (
	null kind = 1 << iota
	boolean
	integer
	decimal
	text
	array
	object
)

// value is one JSON value of a request as it was sent. It is read-only once
// parsed; the zero value is an absent one.
type value struct {
	kind  kind
	raw   []byte   // as sent
	text  string   // of a string, decoded
	names []string // of an object, beside elems
	elems []value  // of an array or an object
}

// maxDepth is how deep a request may be nested; what is deeper is no request.
const maxDepth = 200

var (
	errDeep   = errors.New("nested too deep")
	errObject = errors.New("not one object")
)

// parse reads a request body: one JSON object in UTF-8 and nothing after it.
func parse(body []byte) (*value, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	raw, err := decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	raw = bytes.Clone(raw)
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) || raw[0] != '{' {
		return nil, errObject
	}
	s := scanner{data: raw}
	v := s.value(0)
	if s.deep {
		return nil, errDeep
	}
	return &v, nil
}

// scanner builds the tree of valid JSON in one pass.
type scanner struct {
	data []byte
	at   int
	deep bool
}

func (s *scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\t' || s.data[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) value(depth int) (v value) {
	s.space()
	start := s.at
	if s.deep = s.deep || depth > maxDepth; s.deep {
		s.at = len(s.data)
		return value{}
	}
	switch c := s.data[s.at]; c {
	case '{':
		v.kind = object
		s.members(&v, depth, '}')
	case '[':
		v.kind = array
		s.members(&v, depth, ']')
	case '"':
		v.kind, v.text = text, s.string()
	default:
		v.kind = s.scalar()
	}
	if !s.deep {
		v.raw = s.data[start:s.at:s.at]
	}
	return v
}

// members reads what stands between two brackets.
func (s *scanner) members(v *value, depth int, end byte) {
	s.at++
	for s.space(); !s.deep && s.data[s.at] != end; s.space() {
		if s.data[s.at] == ',' {
			s.at++
			continue
		}
		if v.kind == object {
			v.names = append(v.names, s.string())
			s.space()
			s.at++ // the colon
		}
		v.elems = append(v.elems, s.value(depth+1))
	}
	s.at++
}

func (s *scanner) string() string {
	start, plain := s.at, true
	for s.at++; s.data[s.at] != '"'; s.at++ {
		if s.data[s.at] == '\\' {
			plain = false
			s.at++
		}
	}
	s.at++
	if plain {
		return string(s.data[start+1 : s.at-1])
	}
	var out string
	_ = json.Unmarshal(s.data[start:s.at], &out) // it is valid
	return out
}

func (s *scanner) scalar() kind {
	start := s.at
	for s.at < len(s.data) && !bytes.ContainsRune([]byte(",]} \n\t\r"), rune(s.data[s.at])) {
		s.at++
	}
	switch c := s.data[start]; {
	case c == 'n':
		return null
	case c == 't' || c == 'f':
		return boolean
	case bytes.ContainsAny(s.data[start:s.at], ".eE"):
		return decimal
	}
	return integer
}

// get returns the member of an object, absent when there is none. Of a name
// that stands twice the last counts.
func (v *value) get(name string) *value {
	for i := len(v.names) - 1; i >= 0; i-- {
		if v.names[i] == name {
			return &v.elems[i]
		}
	}
	return &absent
}

var absent value

// has reports whether the object has the member and it is not null.
func (v *value) has(name string) bool { return v.get(name).kind&^null != 0 }

// str returns the text of a member, "" when it is no string.
func (v *value) str(name string) string { return v.get(name).text }

// items returns the elements of a member that is an array.
func (v *value) items(name string) []value {
	if m := v.get(name); m.kind == array {
		return m.elems
	}
	return nil
}

// is reports whether a boolean member is set; otherwise is what its absence
// means.
func (v *value) is(name string, otherwise bool) bool {
	if m := v.get(name); m.kind == boolean {
		return m.raw[0] == 't'
	}
	return otherwise
}

// number returns the value of a number.
func (v *value) number() float64 {
	var n float64
	_ = json.Unmarshal(v.raw, &n) // out of range: ±MaxFloat64, big enough
	return n
}
