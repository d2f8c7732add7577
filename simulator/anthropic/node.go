package anthropic

import (
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/simulator/lex"
)

// node is one value of the request, in its own order. The nil pointer is an
// absent value; every method works on it.
type node struct {
	kind  jsontext.Kind // '{' '[' '"' '0' 't' 'f' 'n'
	text  string        // a string's characters, a number's digits
	names []string      // an object's, parallel to items
	items []node
}

// parseJSON reads exactly one value. Of two members of one name the last counts,
// as it does for the provider.
func parseJSON(body []byte) (*node, error) {
	text, err := lex.Value(body)
	if err != nil {
		return nil, err
	}
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	p.Lexer = lex.New(text)
	root := p.value()
	p.Lexer = lex.Lexer{}
	p.names.Forget()
	p.items.Forget()
	return &root, nil
}

// parser builds the tree of a body that is valid.
type parser struct {
	lex.Lexer
	names lex.Nest[string]
	items lex.Nest[node]
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

func (p *parser) value() node {
	n := node{kind: jsontext.Kind(p.Kind())}
	switch n.kind {
	case '{', '[':
		name, item := p.names.Mark(), p.items.Mark()
		for p.Enter(); p.More(); {
			if n.kind == '{' {
				p.names.Add(p.Name())
			}
			p.items.Add(p.value())
		}
		n.names, n.items = p.names.Take(name), p.items.Take(item)
	case '"':
		n.text = p.Text()
	case 't', 'f', 'n':
		p.Literal()
	default:
		n.kind, n.text = '0', p.Literal()
	}
	return n
}

// get returns the member of an object, nil when it is absent.
func (n *node) get(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	for i := len(n.names) - 1; i >= 0; i-- {
		if n.names[i] == name {
			return &n.items[i]
		}
	}
	return nil
}

// given is get without members that are null, which mean nothing.
func (n *node) given(name string) *node {
	if v := n.get(name); v.is('n') {
		return nil
	} else {
		return v
	}
}

func (n *node) is(kind jsontext.Kind) bool { return n != nil && n.kind == kind }

// str is the characters of a string, "" of anything else.
func (n *node) str() string {
	if n.is('"') {
		return n.text
	}
	return ""
}

// list is the elements of an array, none of anything else.
func (n *node) list() []node {
	if n.is('[') {
		return n.items
	}
	return nil
}

func (n *node) yes() bool { return n.is('t') }

// number is the value of a number, and whether it is one.
func (n *node) number() (float64, bool) {
	if !n.is('0') {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	return v, err == nil
}

// integer is the value of a whole number, and whether it is one.
func (n *node) integer() (int, bool) {
	v, ok := n.number()
	whole := ok && v == float64(int64(v)) && v > -1e15 && v < 1e15
	return int(v), whole
}

// canonical appends the value with sorted members and without white space; cache
// marks are left out, because no digest of a conversation counts them (reference
// §5.1, below the table).
func (n *node) canonical(out []byte) []byte {
	switch {
	case n == nil || n.kind == 'n':
		return append(out, "null"...)
	case n.kind == 't':
		return append(out, "true"...)
	case n.kind == 'f':
		return append(out, "false"...)
	case n.kind == '0':
		return append(out, n.text...)
	case n.kind == '"':
		return strconv.AppendQuote(out, n.text)
	case n.kind == '[':
		out = append(out, '[')
		for i := range n.items {
			out = append(n.items[i].canonical(out), ',')
		}
		return append(out, ']')
	}
	return n.canonicalObject(out)
}

func (n *node) canonicalObject(out []byte) []byte {
	order := make([]int, len(n.names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareText(n.names[a], n.names[b]) })
	out = append(out, '{')
	for _, i := range order {
		if n.names[i] == "cache_control" || n.items[i].kind == 'n' {
			continue
		}
		out = append(strconv.AppendQuote(out, n.names[i]), ':')
		out = append(n.items[i].canonical(out), ',')
	}
	return append(out, '}')
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
