package record

import (
	"bytes"
	"slices"
	"testing"
)

// What ended first is taken first, and no more at once than one write is for.
func TestQueueKeepsOrder(t *testing.T) {
	const n = batchCount + 5
	q, spools := newQueue(), newSpool(t).from
	var put, taken []*exchange
	for range n {
		x := &exchange{request: spools.newSpool()}
		put = append(put, x)
		q.put(x)
	}
	first := q.take()
	q.close()
	if late := q.take(); len(late) != 0 {
		t.Errorf("took %d of a closed queue", len(late))
	}
	taken = append(append(taken, first...), q.takeRest()...)
	if len(first) != batchCount || !slices.Equal(taken, put) {
		t.Errorf("took %d, then %d of %d, in order: %t", len(first), len(taken)-len(first), n, slices.Equal(taken, put))
	}
	if rest := q.takeRest(); len(rest) != 0 || q.held != 0 {
		t.Errorf("%d left, %d bytes held", len(rest), q.held)
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
