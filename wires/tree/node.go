// Package tree reads JSON and server-sent events for everything that judges
// traffic or stands in for a provider. It keeps what a judge and a provider's
// error message need: exact bytes and their offsets, the order of members,
// repeated names, numbers as they were written.
//
// One parser has three ways to treat strings that are not valid Unicode.
// [Parse] keeps invalid UTF-8 and lone surrogates, so that two strings that
// differ on the wire never compare equal. [ParseStrict] refuses such strings, and
// [ParseLenient] replaces the invalid parts by U+FFFD, each as some providers do.
// All three return the root [Node]. The methods of Node work on the nil pointer,
// which stands for an absent value, so that a path is followed without checks:
//
//	root, err := tree.Parse(body)
//	if err != nil {
//		return err
//	}
//	effort := root.Get("reasoning").Text("effort") // "" when anything is missing
//
// While a tree is checked against a schema, [Paths] remembers where each value
// stands; the text of a [Path] is only built when there is something to report.
// [ReadSSE] splits a stream into events.
//
// A tree is never changed after it was parsed, so it may be read by several
// goroutines. Only an editor, which owns its tree, calls [Node.SetItems] and
// [Node.SetMembers].
//
// No agent may use this package: a bug on both sides would stay unseen.
package tree

import (
	"slices"
	"strconv"
	"strings"
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
	kind   Kind
	offset int
	raw    string
	text   string   // the characters of a string
	names  []string // the names of an object's members, beside items
	items  []*Node
}

// NewString returns a string that is part of no parsed text.
func NewString(text string) *Node {
	return &Node{kind: String, text: text, raw: string(Quote(text))}
}

// NewArray returns an array that is part of no parsed text. It has no Raw.
func NewArray(items ...*Node) *Node { return &Node{kind: Array, items: items} }

// NewObject returns an object that is part of no parsed text, with as many names
// as items. It has no Raw.
func NewObject(names []string, items ...*Node) *Node {
	return &Node{kind: Object, names: names, items: items}
}

// SetItems changes the elements of an array, or the values of an object's members
// and not their number. Raw stays as it was; [Encode] writes the new value.
func (n *Node) SetItems(items []*Node) { n.items = items }

// SetMembers changes the members of an object. Raw stays as it was; [Encode] writes
// the new value.
func (n *Node) SetMembers(names []string, items []*Node) { n.names, n.items = names, items }

// Kind returns the kind of the value, 0 when it is absent.
func (n *Node) Kind() Kind {
	if n == nil {
		return 0
	}
	return n.kind
}

// Is reports whether the value is of one of some kinds.
func (n *Node) Is(kinds Kind) bool { return n.Kind()&kinds != 0 }

// Null reports whether the value is absent or null.
func (n *Node) Null() bool { return n == nil || n.kind == Null }

// Text returns the characters of a string, "" for any other value. Names lead to the string, as in [Node.Get].
func (n *Node) Text(path ...string) string {
	if n = n.Get(path...); n == nil {
		return ""
	}
	return n.text
}

// Raw returns the value as it was sent, without white space around it. It is ""
// for an absent value. Names lead to the value, as in [Node.Get].
func (n *Node) Raw(path ...string) string {
	if n = n.Get(path...); n == nil {
		return ""
	}
	return n.raw
}

// Offset returns where Raw begins in the parsed text, in bytes.
func (n *Node) Offset() int {
	if n == nil {
		return 0
	}
	return n.offset
}

// Names returns the names of an object's members in their order, repeated ones
// too. Only the tree's editor may change them.
func (n *Node) Names() []string {
	if n == nil {
		return nil
	}
	return n.names
}

// Items returns the elements of an array, or the values of an object's members in
// the order of Names. Only the tree's editor may change them.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.items
}

// List returns the elements of an array, none for any other value. Names lead to the array, as in [Node.Get].
func (n *Node) List(path ...string) []*Node {
	if n = n.Get(path...); n.Is(Array) {
		return n.items
	}
	return nil
}

// Get returns the member to which names of members lead, one below the other; nil when there is none. Of a name
// that is repeated the last counts, as it does for providers.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		n = n.member(name)
	}
	return n
}

func (n *Node) member(name string) *Node {
	if n == nil {
		return nil
	}
	for i := len(n.names) - 1; i >= 0; i-- {
		if n.names[i] == name {
			return n.items[i]
		}
	}
	return nil
}

// Any returns the member with the first of some names that the object has.
// Proto-JSON spells each name in two ways.
func (n *Node) Any(names ...string) *Node {
	for _, name := range names {
		if v := n.member(name); v != nil {
			return v
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
		return n.items[i]
	}
	return nil
}

// Has reports whether the object has the member to which names lead, and it is not null.
func (n *Node) Has(path ...string) bool { return !n.Get(path...).Null() }

// True reports whether the value, to which names lead as in [Node.Get], is true.
func (n *Node) True(path ...string) bool { n = n.Get(path...); return n.Is(Bool) && n.raw[0] == 't' }

// False reports whether the value, to which names lead as in [Node.Get], is false.
func (n *Node) False(path ...string) bool { n = n.Get(path...); return n.Is(Bool) && n.raw[0] == 'f' }

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

// Int returns the value of a number that is written with one to nine digits and
// nothing else, such as an index; -1 for anything else. Names lead to the number, as in [Node.Get].
func (n *Node) Int(path ...string) int {
	if n = n.Get(path...); !n.Is(Integer) || len(n.raw) > 9 || n.raw[0] == '-' {
		return -1
	}
	v := 0
	for _, digit := range []byte(n.raw) {
		v = v*10 + int(digit-'0')
	}
	return v
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
		for i, item := range n.items {
			list[i] = item.Decoded()
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

// children collects the parts of values within values, so that those of each value
// end up side by side, and all of them in few pieces of memory, which the trees
// that are parsed one after the other share. The zero children are empty.
type children[T any] struct {
	open []T // the parts of all values that are not complete
	room []T // for the parts of complete values
	size int // of the last room
}

// maxOpen bounds the memory that is kept between two trees, in parts.
const maxOpen = 1024

// The least and the most parts for which room is made at once. A tree that is kept
// keeps that many of its neighbours' parts.
const (
	minRoom = 16
	maxRoom = 128
)

// mark returns where the parts of a value begin.
func (c *children[T]) mark() int { return len(c.open) }

// push adds a part of the innermost value that is not complete.
func (c *children[T]) push(part T) { c.open = append(c.open, part) }

// take returns the parts since mark: their value is complete. No parts are nil.
func (c *children[T]) take(mark int) []T {
	parts := c.open[mark:]
	count := len(parts)
	if count == 0 {
		return nil
	}
	if len(c.room) < count {
		c.size = max(count, min(max(2*c.size, minRoom), maxRoom))
		c.room = make([]T, c.size)
	}
	taken := c.room[:count:count]
	c.room = c.room[count:]
	copy(taken, parts)
	c.open = c.open[:mark]
	return taken
}

// reset drops a tree, also one that was given up half way.
func (c *children[T]) reset() {
	if cap(c.open) > maxOpen {
		c.open = nil
		return
	}
	clear(c.open[:cap(c.open)])
	c.open = c.open[:0]
}

// nodeRoom hands out nodes from few pieces of memory, which trees that are parsed
// one after the other share. The zero nodeRoom is empty.
type nodeRoom struct {
	room []Node
	size int // of the last room
}

// newNode returns a node that nobody else has.
func (r *nodeRoom) newNode() *Node {
	if len(r.room) == 0 {
		r.size = min(max(2*r.size, minRoom), maxRoom)
		r.room = make([]Node, r.size)
	}
	n := &r.room[0]
	r.room = r.room[1:]
	return n
}

// Texts lists all strings below n.
func (n *Node) Texts() (texts []string) {
	if n.Is(String) {
		return []string{n.Text()}
	}
	for _, v := range n.Items() {
		texts = append(texts, v.Texts()...)
	}
	return texts
}

// PathAt returns the path of the innermost value that covers a byte of the document.
func (n *Node) PathAt(off int) string {
	for path := ""; ; {
		next := slices.IndexFunc(n.Items(),
			func(e *Node) bool { return e.Offset() <= off && off < e.Offset()+len(e.Raw()) })
		switch {
		case next < 0:
			return strings.TrimPrefix(path, ".")
		case n.Is(Object):
			path += "." + n.Names()[next]
		default:
			path += "[" + strconv.Itoa(next) + "]"
		}
		n = n.Items()[next]
	}
}

// Mentions reports whether any text below n holds a word that is given in lower case.
func (n *Node) Mentions(word string) bool {
	return strings.Contains(strings.ToLower(n.Text()), word) ||
		slices.ContainsFunc(n.Items(), func(item *Node) bool { return item.Mentions(word) })
}
