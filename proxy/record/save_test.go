package record

import (
	"bytes"
	"slices"
	"testing"
)

// What ended first is saved first, and no more at once than one write is for.
func TestSaverKeepsOrder(t *testing.T) {
	const n = batchCount + 5
	spools, begun, goOn := newSpool(t).from, make(chan struct{}), make(chan struct{})
	var saved [][]*exchange
	s := newSaver(func(batch []*exchange) {
		if saved = append(saved, batch); len(saved) == 1 {
			close(begun)
			<-goOn
		}
	})
	var put []*exchange
	for i := range 1 + n {
		x := &exchange{request: spools.newSpool(), saved: make(chan struct{})}
		put = append(put, x)
		if s.put(x); i == 0 {
			<-begun // the others wait
		}
	}
	close(goOn)
	s.close()
	if len(saved) != 3 || len(saved[1]) != batchCount || !slices.Equal(slices.Concat(saved...), put) {
		t.Errorf("%d batches, in order: %t", len(saved), slices.Equal(slices.Concat(saved...), put))
	}
	if len(s.waiting) != 0 || s.held != 0 {
		t.Errorf("%d left, %d bytes held", len(s.waiting), s.held)
	}
}

// Each of a batch is prepared, once.
func TestRunInParallelReachesAll(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		seen := make([]int, n)
		runInParallel(n, func(i int) { seen[i]++ })
		if slices.ContainsFunc(seen, func(times int) bool { return times != 1 }) {
			t.Errorf("%d: %v", n, seen)
		}
	}
}

// Two bodies of one recorder share the key, and no key stream: of what is on the
// disk cannot even show that they are equal.
func TestSpoolsShareNoKeyStream(t *testing.T) {
	f := newSpool(t).from
	defer f.close()
	body := bytes.Repeat([]byte("the same bytes. "), 2*inMemory/16)
	var disk [3][]byte
	for i := range disk {
		s := f.newSpool() // the third writes the first one's file anew
		if i == 1 {
			defer s.close()
		}
		_, _ = s.Write(body)
		disk[i] = make([]byte, s.stored)
		if _, err := s.file.ReadAt(disk[i], 0); err != nil || s.stored == 0 {
			t.Fatal(s.stored, err)
		}
		if i != 1 {
			s.close()
		}
	}
	if bytes.Equal(disk[0], disk[1]) || bytes.Equal(disk[0], disk[2]) || bytes.Equal(disk[1], disk[2]) {
		t.Error("equal bodies are equal on disk")
	}
}
