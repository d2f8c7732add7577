package jsontree

import (
	"slices"
	"strconv"
)

// Kind is the type of a JSON value. Kinds are bits, so that a schema can name the
// set of kinds it takes. 0 is an absent value.
type Kind uint8

// The kinds. A number without a fraction and an exponent is an Integer, any other
// a Decimal.
const (
	Null Kind = 1 << iota
	Bool
	Integer
	Decimal
	String
	Array
	Object

	Number = Integer | Decimal
)

// Node is one value. A nil Node is an absent value.
type Node struct {
	kind  Kind
	text  string // the characters of a string
	raw   string
	names []string // the names of an object's members, beside items
	items []Node
}

// NewString returns a string that is part of no parsed text. It has no Raw.
func NewString(text string) Node { return Node{kind: String, text: text} }

// NewObject returns an object that is part of no parsed text, with as many names
// as items. It has no Raw.
func NewObject(names []string, items ...Node) *Node {
	return &Node{kind: Object, names: names, items: items}
}

// Kind returns the kind of the value, 0 when it is absent.
func (n *Node) Kind() Kind {
	if n == nil {
		return 0
	}
	return n.kind
}

// Is reports whether the value is of one of some kinds.
func (n *Node) Is(kinds Kind) bool { return n.Kind()&kinds != 0 }

// Text returns the characters of a string, "" for any other value.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Raw returns the value as it was sent, without white space around it. It is ""
// for an absent value.
func (n *Node) Raw() string {
	if n == nil {
		return ""
	}
	return n.raw
}

// Names returns the names of an object's members in their order, repeated ones
// too. The caller must not change them.
func (n *Node) Names() []string {
	if n == nil {
		return nil
	}
	return n.names
}

// Items returns the elements of an array, or the values of an object's members in
// the order of Names. The caller must not change them.
func (n *Node) Items() []Node {
	if n == nil {
		return nil
	}
	return n.items
}

// List returns the elements of an array, none for any other value.
func (n *Node) List() []Node {
	if n.Is(Array) {
		return n.items
	}
	return nil
}

// Get returns the member of an object, nil when there is none. Of a name that is
// repeated the last counts.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for i := len(n.names) - 1; i >= 0; i-- {
		if n.names[i] == name {
			return &n.items[i]
		}
	}
	return nil
}

// Given returns the last member that has one of some names, nil when that member
// is null.
func (n *Node) Given(names ...string) *Node {
	if n == nil {
		return nil
	}
	for i := len(n.names) - 1; i >= 0; i-- {
		if !slices.Contains(names, n.names[i]) {
			continue
		}
		if n.items[i].kind == Null {
			return nil
		}
		return &n.items[i]
	}
	return nil
}

// Has reports whether the object has the member and it is not null.
func (n *Node) Has(name string) bool { return n.Get(name).Is(^Null) }

// True reports whether the value is true.
func (n *Node) True() bool { return n.Is(Bool) && n.raw[0] == 't' }

// Number returns the value of a number. ok is false for any other value and for a
// number beyond the range of a float64.
func (n *Node) Number() (value float64, ok bool) {
	if !n.Is(Number) {
		return 0, false
	}
	value, err := strconv.ParseFloat(n.raw, 64)
	if err != nil {
		return 0, false
	}
	return value, true
}

// maxWhole bounds the whole numbers that Whole returns.
const maxWhole = 1e15

// Whole returns the value of a whole number, however it is written: 1, 1.0 or 1e0.
// ok is false for any other value and for one of 16 digits or more.
func (n *Node) Whole() (value int, ok bool) {
	v, ok := n.Number()
	whole := ok && v == float64(int64(v)) && v > -maxWhole && v < maxWhole
	return int(v), whole
}

// Decoded returns the value as encoding/json decodes it into an empty interface.
// A number beyond the range of a float64 becomes 0.
func (n *Node) Decoded() any {
	switch n.Kind() {
	case String:
		return n.text
	case Integer, Decimal:
		v, _ := n.Number()
		return v
	case Bool:
		return n.True()
	case Array:
		list := make([]any, len(n.items))
		for i := range n.items {
			list[i] = n.items[i].Decoded()
		}
		return list
	case Object:
		return n.Map()
	default: // null, absent and numbers that are none
		return nil
	}
}

// Map returns an object as encoding/json decodes it, nil for any other value.
func (n *Node) Map() map[string]any {
	if !n.Is(Object) {
		return nil
	}
	members := make(map[string]any, len(n.names))
	for i, name := range n.names {
		members[name] = n.items[i].Decoded()
	}
	return members
}
