package server

import (
	"context"
	"net"
	"slices"
	"sync"
)

// boundedListener has so many connections at once. Where one more comes, the oldest of those
// that have shown no token yet is closed for it: connections that send nothing, or half a
// request, keep nobody out. All may come from one address, such as that of a load balancer,
// so that addresses say nothing. Where every connection has shown the token, one more waits.
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
	select {
	case l.places <- struct{}{}:
	default:
		l.mu.Lock()
		var oldest *boundedConn
		if len(l.unproven) > 0 {
			oldest = l.unproven[0]
		}
		l.mu.Unlock()
		if oldest != nil {
			_ = oldest.Close() // it was given up
		}
		select {
		case l.places <- struct{}{}:
		case <-l.closed:
			_ = inner.Close() // nobody serves it
			return nil, net.ErrClosed
		}
	}
	c := &boundedConn{Conn: inner, listener: l}
	c.leave = sync.OnceFunc(func() {
		c.markProven()
		<-l.places
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unproven = append(l.unproven, c)
	return c, nil
}

// Close implements net.Listener.
func (l *boundedListener) Close() error { return l.end() }

// boundedConn is a connection of a boundedListener.
type boundedConn struct {
	net.Conn
	listener *boundedListener
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

// proveConn says that the client that sent a request has the token.
func proveConn(ctx context.Context) {
	if c, bounded := ctx.Value(connKey{}).(*boundedConn); bounded {
		c.markProven()
	}
}
