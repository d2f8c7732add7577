package proxy

import "sync"

// inflight counts what runs, requests or handshakes, so that Close can wait for
// the last one.
type inflight struct {
	mu     sync.Mutex
	wg     sync.WaitGroup
	closed bool
}

func (f *inflight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.wg.Add(1)
	}
	return !f.closed
}

func (f *inflight) end() { f.wg.Done() }

// closeAndWait admits nothing further and returns when the last one has ended.
func (f *inflight) closeAndWait() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.wg.Wait()
}
