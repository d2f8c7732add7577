package tree

import (
	"slices"
	"strconv"
	"strings"
)

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
		next := slices.IndexFunc(n.Items(), func(e *Node) bool { return e.Offset() <= off && off < e.Offset()+len(e.Raw()) })
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
