package wires

import (
	"fmt"
	"maps"
	"sync/atomic"
)

// Table holds one part of every wire by the name of the wire, such as its decoder. The zero Table is
// empty. Readers need no lock, because the map is replaced as a whole.
type Table[T any] struct{ parts atomic.Pointer[map[string]T] }

// Add adds the part of a wire. what names the part for the error that says that the wire has one already.
func (t *Table[T]) Add(wire, what string, part T) error {
	for {
		was := t.parts.Load()
		next := map[string]T{}
		if was != nil {
			maps.Copy(next, *was)
		}
		if _, exists := next[wire]; exists {
			return fmt.Errorf("wire %q: has %s already", wire, what)
		}
		next[wire] = part
		if t.parts.CompareAndSwap(was, &next) {
			return nil
		}
	}
}

// All returns the parts by the name of the wire. The map is read-only.
func (t *Table[T]) All() map[string]T {
	if all := t.parts.Load(); all != nil {
		return *all
	}
	return nil
}
