package recorder

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/proxy/replay"
)

// BypassWatch looks for connections of a program, and of what it starts, to other
// machines. It looks several times a second, so it misses short connections.
type BypassWatch struct {
	stop  chan struct{}
	done  chan struct{}
	found map[replay.Bypass]bool // of the watching goroutine, until done
}

const (
	bypassInterval = 50 * time.Millisecond // from one look to the next
	maxBypasses    = 100                   // more are not reported
)

// WatchBypass watches a process until Stop. Outside Linux it finds nothing: only Linux shows
// which connections belong to a process.
func WatchBypass(pid int) *BypassWatch {
	w := &BypassWatch{stop: make(chan struct{}), done: make(chan struct{}), found: map[replay.Bypass]bool{}}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(bypassInterval)
		defer tick.Stop()
		for {
			for _, b := range connectionsOf(pid) {
				if len(w.found) < maxBypasses {
					w.found[b] = true
				}
			}
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

// Stop ends the watch and returns what it found, in order.
func (w *BypassWatch) Stop() []replay.Bypass {
	close(w.stop)
	<-w.done
	return slices.SortedFunc(maps.Keys(w.found), func(a, b replay.Bypass) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Address, b.Address))
	})
}
