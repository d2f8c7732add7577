package recorderenv

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Bypass is a connection that a program made past the recorder.
type Bypass struct {
	Program string // as the system knows it
	Address string // HOST:PORT
}

// BypassWatch looks for connections of a program, and of what it starts, to other
// machines. It looks several times a second, so it misses the shortest.
type BypassWatch struct {
	stop  chan struct{}
	done  chan struct{}
	mu    sync.Mutex
	found map[Bypass]bool
}

// bypassInterval is the time from one look to the next, and maxBypasses the most that
// reported.
const (
	bypassInterval = 50 * time.Millisecond
	maxBypasses    = 100
)

// WatchBypass watches a process until Stop. Only Linux shows whose connections are
// whose.
func WatchBypass(pid int) *BypassWatch {
	w := &BypassWatch{stop: make(chan struct{}), done: make(chan struct{}), found: map[Bypass]bool{}}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(bypassInterval)
		defer tick.Stop()
		for {
			w.note(connectionsOf(pid))
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

func (w *BypassWatch) note(all []Bypass) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range all {
		if len(w.found) < maxBypasses {
			w.found[b] = true
		}
	}
}

// Stop ends the watch and returns what it found, in order.
func (w *BypassWatch) Stop() (all []Bypass) {
	close(w.stop)
	<-w.done
	for b := range w.found {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Bypass) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Address, b.Address))
	})
	return all
}
