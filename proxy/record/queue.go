package record

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// waiting is how many bytes of ended interactions may wait in memory to be
	// saved. Beyond it a reply's end, never its bytes, waits for the disk.
	waiting = 64 << 20
	// batchBytes and batchCount bound what is saved with one write: everything in it
	// is in memory several times over, and the ends of its replies wait for it.
	batchBytes, batchCount = 8 << 20, 128
	// holdBytes is the length up to which an interaction is saved before its client
	// sees the end of the reply, and holdTime the longest that this may take.
	holdBytes, holdTime = 1 << 20, 5 * time.Second
	// gatherTime is how long the first of a batch waits for others, where requests are
	// under way that may join it: one write for many leaves more to the clients.
	gatherTime = time.Millisecond
)

// queue passes ended interactions from the handlers to the goroutine that saves
// them, in the order in which they ended. Its methods are safe for concurrent
// use.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	items  []*exchange
	held   int // bytes of memory that items hold
	closed bool
	active atomic.Int64 // exchanges under way, those that wait here included
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
	for q.held > 0 && q.held+size > waiting {
		q.change.Wait()
	}
	q.items, q.held = append(q.items, x), q.held+size
	q.change.Broadcast()
}

// take waits for interactions and returns the oldest ones, enough for one write;
// none when the queue is closed and empty. An interaction larger than a batch
// comes alone.
func (q *queue) take() (batch []*exchange) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.change.Wait()
	}
	if n := int64(len(q.items)); n < q.active.Load() && n < batchCount && !q.closed {
		q.mu.Unlock()
		time.Sleep(gatherTime)
		q.mu.Lock()
	}
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
