package server

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// cancelRequests are operations that clients asked to cancel. Those that the agent does not
// know are asked for again after each of its events: a run that goes on with a session
// takes a moment until it has its operations again. It is safe for concurrent use.
type cancelRequests struct {
	mu      sync.Mutex
	waiting []session.ID
	changed chan struct{}
}

// addRequest adds an operation, unless it waits already. It does not wait.
func (c *cancelRequests) addRequest(operation session.ID) {
	c.mu.Lock()
	if !slices.Contains(c.waiting, operation) {
		c.waiting = append(c.waiting, operation)
	}
	c.mu.Unlock()
	c.tryAgain()
}

// tryAgain lets forwardRequests look again. It does not wait.
func (c *cancelRequests) tryAgain() {
	select {
	case c.changed <- struct{}{}:
	default: // it will look
	}
}

// forwardRequests hands the operations to those who run them, until ctx ends.
func (c *cancelRequests) forwardRequests(ctx context.Context, m *ops.Manager) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
		c.mu.Lock()
		waiting := slices.Clone(c.waiting)
		c.mu.Unlock()
		for _, operation := range waiting {
			if err := m.Cancel(operation); !errors.As(err, new(*ops.UnknownOperationError)) {
				c.removeRequest(operation)
			}
		}
	}
}

func (c *cancelRequests) removeRequest(operation session.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(o session.ID) bool { return o == operation })
}
