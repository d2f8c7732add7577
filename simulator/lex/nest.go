package lex

// Nest collects the children of values within values, so that those of each end
// up side by side and all of them in few pieces of memory, which it shares among
// the trees that are built with it one after the other. The zero Nest is empty; it
// is for one goroutine.
type Nest[T any] struct {
	open []T // the children of all values that are not complete
	room []T // for those of values that are
	size int // of the last room
}

// maxOpen is for how many children the memory is kept between two trees.
const maxOpen = 1024

// The least and the most values for which room is made at once.
const (
	minRoom = 16
	maxRoom = 128 // a tree that is kept keeps that many of its neighbours'
)

// Mark is where the children of a value begin.
func (n *Nest[T]) Mark() int { return len(n.open) }

// Add adds a child of the innermost value that is not complete.
func (n *Nest[T]) Add(child T) { n.open = append(n.open, child) }

// Take returns the children since mark: their value is complete. No children are
// nil.
func (n *Nest[T]) Take(mark int) []T {
	children := n.open[mark:]
	count := len(children)
	if count == 0 {
		return nil
	}
	if len(n.room) < count {
		n.size = max(count, min(max(2*n.size, minRoom), maxRoom))
		n.room = make([]T, n.size)
	}
	taken := n.room[:count:count]
	n.room = n.room[count:]
	copy(taken, children)
	n.open = n.open[:mark]
	return taken
}

// Forget lets go of a tree, also of one that was given up.
func (n *Nest[T]) Forget() {
	if cap(n.open) > maxOpen {
		n.open = nil
		return
	}
	clear(n.open[:cap(n.open)])
	n.open = n.open[:0]
}

// Slab makes room for many small values at once: for the places of a tree while it
// is walked. The zero Slab is empty; it is for one goroutine.
type Slab[T any] struct{ room []T }

// Put returns where v is kept.
func (s *Slab[T]) Put(v T) *T {
	if len(s.room) == 0 {
		s.room = make([]T, minRoom)
	}
	at := &s.room[0]
	s.room = s.room[1:]
	*at = v
	return at
}
