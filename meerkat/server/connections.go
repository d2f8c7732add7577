package server

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// proofTime is how long a connection keeps its place without the token when others wait.
const proofTime = 500 * time.Millisecond

// boundedListener has so many connections at once. Where one more comes, it waits for a place
// or until the oldest of those that have shown no token has had its proofTime and is closed:
// connections that send nothing, or half a request, keep nobody out for long. All may come
// from one address, such as that of a load balancer, so that addresses say nothing.
type boundedListener struct {
	net.Listener
	places chan struct{} // holds a token for each connection
	closed chan struct{}
	end    func() error

	mu       sync.Mutex
	unproven []*boundedConn // the oldest first
}

func newBoundedListener(l net.Listener, connections int) *boundedListener {
	b := &boundedListener{Listener: l, places: make(chan struct{}, connections), closed: make(chan struct{})}
	b.end = sync.OnceValue(func() error {
		close(b.closed)
		return l.Close()
	})
	return b
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := l.takePlace(); err != nil {
		_ = inner.Close() // nobody serves it
		return nil, err
	}
	c := &boundedConn{Conn: inner, listener: l, since: time.Now()}
	c.leave = sync.OnceFunc(func() {
		c.markProven()
		<-l.places
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unproven = append(l.unproven, c)
	return c, nil
}

// takePlace waits for a place, and makes one if a connection has had its time.
func (l *boundedListener) takePlace() error {
	for {
		select {
		case l.places <- struct{}{}:
			return nil
		default:
		}
		var due <-chan time.Time
		if oldest := l.oldestUnproven(); oldest != nil {
			left := time.Until(oldest.since.Add(proofTime))
			if left <= 0 {
				_ = oldest.Close() // its client had time enough
			}
			due = time.After(left)
		}
		select {
		case l.places <- struct{}{}:
			return nil
		case <-due:
		case <-l.closed:
			return net.ErrClosed
		}
	}
}

func (l *boundedListener) oldestUnproven() *boundedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unproven) == 0 {
		return nil
	}
	return l.unproven[0]
}

// Close implements net.Listener.
func (l *boundedListener) Close() error { return l.end() }

// boundedConn is a connection of a boundedListener.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	since    time.Time
	leave    func()
}

// markProven says that the client of the connection has the token.
func (c *boundedConn) markProven() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if at := slices.Index(c.listener.unproven, c); at >= 0 {
		c.listener.unproven = slices.Delete(c.listener.unproven, at, at+1)
	}
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}
