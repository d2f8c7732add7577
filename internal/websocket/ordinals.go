package websocket

import (
	"context"
	"sync"
)

// Ordinals numbers WebSockets in the order of their first messages. A session keeps the first
// number that it gets, so it must be counted by one Ordinals only. It is safe for concurrent
// use.
type Ordinals struct {
	mu   sync.Mutex
	last int
}

// StartAfter makes the next new WebSocket the one after number last.
func (o *Ordinals) StartAfter(last int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = last
}

// Of returns the ordinal of the WebSocket that a request came by, from 1; 0 for plain HTTP.
func (o *Ordinals) Of(ctx context.Context) int {
	session := SessionOf(ctx)
	if session == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if session.ordinal == 0 {
		o.last++
		session.ordinal = o.last
	}
	return session.ordinal
}
