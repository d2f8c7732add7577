package record

import (
	"sync"
	"time"
)

const (
	// maxQueued is how many bytes of ended interactions may wait in memory to be
	// saved. Beyond it the ends of replies, never their other bytes, wait for the disk.
	maxQueued = 64 << 20
	// batchBytes and batchCount bound what is saved with one write. A batch is in memory
	// several times over while it is saved, and the ends of its replies wait for all of it:
	// with small batches the first clients go on earlier.
	batchBytes, batchCount = 8 << 20, 8
	// holdBytes is the length up to which an interaction is saved before its client
	// sees the end of the reply, and holdTime the longest that this may take.
	holdBytes, holdTime = 1 << 20, 5 * time.Second
)

// queue passes ended interactions from the handlers to the goroutine that saves
// them, in the order in which they ended. What ends while that goroutine is busy is its
// next batch: the longer saving takes, the more interactions share one write. Its methods
// are safe for concurrent use.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	items  []*exchange
	held   int // bytes of memory that items hold
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.change.L = &q.mu
	return q
}

func (q *queue) put(x *exchange) {
	size := x.memoryHeld()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.held > 0 && q.held+size > maxQueued {
		q.change.Wait()
	}
	q.items, q.held = append(q.items, x), q.held+size
	q.change.Broadcast()
}

// take waits for interactions and returns a batch of the oldest ones; none when the queue is
// closed.
func (q *queue) take() []*exchange {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.change.Wait()
	}
	if q.closed {
		return nil
	}
	return q.takeBatch()
}

// takeRest returns a batch of what is left in a closed queue; none when it is empty.
func (q *queue) takeRest() []*exchange {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeBatch()
}

// takeBatch returns the oldest interactions; mu is held. One that is larger than a batch comes
// alone.
func (q *queue) takeBatch() (batch []*exchange) {
	var total int64
	for _, x := range q.items {
		if total += x.bodySize(); len(batch) > 0 && (total > batchBytes || len(batch) == batchCount) {
			break
		}
		batch = append(batch, x)
		q.held -= x.memoryHeld()
	}
	q.items = q.items[len(batch):]
	q.change.Broadcast()
	return batch
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}
