package record

import (
	"sync"
	"time"
)

const (
	// waiting is how many bytes of ended interactions may wait in memory to be
	// saved. Beyond it a reply's end, never its bytes, waits for the disk.
	waiting = 64 << 20
	// batchBytes and batchCount bound what is saved with one sync: everything in it is in memory
	// several times over.
	batchBytes, batchCount = 8 << 20, 512
	// pause is the least time from one sync to the next: a disk that is asked
	// less often has more done each time, and leaves more to the clients.
	pause = 5 * time.Millisecond
)

// queue passes ended interactions from the handlers to the goroutine that saves
// them, in the order in which they ended. Its methods are safe for concurrent
// use.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	items  []*exchange
	held   int // bytes of memory that items hold
	closed chan struct{}
	next   <-chan time.Time // when the next batch may be taken
}

func newQueue() *queue {
	q := &queue{closed: make(chan struct{}), next: time.After(0)}
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

// take waits for interactions and returns the oldest ones, enough for one sync;
// none when the queue is closed and empty. An interaction larger than a batch
// comes alone.
func (q *queue) take() (batch []*exchange) {
	select {
	case <-q.next:
	case <-q.closed:
	}
	q.next = time.After(pause)
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.isClosed() {
		q.change.Wait()
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
	close(q.closed)
	q.change.Broadcast()
}

func (q *queue) isClosed() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}
