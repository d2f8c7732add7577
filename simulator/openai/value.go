package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/simulator/lex"
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
// The value keeps hold of body.
func parse(body []byte) (*value, error) {
	text, err := lex.Value(body)
	if errors.Is(err, lex.ErrTrailing) {
		return nil, errObject
	}
	if err != nil {
		return nil, err
	}
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	p.Lexer, p.body, p.deep = lex.New(text), body, false
	v := p.value(0)
	p.Lexer, p.body = lex.Lexer{}, nil
	p.names.Forget()
	p.elems.Forget()
	switch {
	case v.kind != object:
		return nil, errObject
	case p.deep:
		return nil, errDeep
	}
	return &v, nil
}

// parser builds the tree of valid JSON in one pass.
type parser struct {
	lex.Lexer
	body  []byte
	deep  bool
	names lex.Nest[string]
	elems lex.Nest[value]
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

func (p *parser) value(depth int) (v value) {
	c := p.Kind()
	start := p.Offset()
	p.deep = p.deep || depth > maxDepth
	switch c {
	case '{':
		v.kind = object
		p.members(&v, depth)
	case '[':
		v.kind = array
		p.members(&v, depth)
	case '"':
		v.kind, v.text = text, p.Text()
	default:
		v.kind = scalar(p.Literal())
	}
	end := p.Offset()
	v.raw = p.body[start:end:end]
	return v
}

// members reads what stands between two brackets.
func (p *parser) members(v *value, depth int) {
	name, elem := p.names.Mark(), p.elems.Mark()
	for p.Enter(); p.More(); {
		if v.kind == object {
			p.names.Add(p.Name())
		}
		p.elems.Add(p.value(depth + 1))
	}
	v.names, v.elems = p.names.Take(name), p.elems.Take(elem)
}

func scalar(literal string) kind {
	switch c := literal[0]; {
	case c == 'n':
		return null
	case c == 't' || c == 'f':
		return boolean
	case strings.ContainsAny(literal, ".eE"):
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
