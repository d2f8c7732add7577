package proxy

import (
	"context"
	"net"
	"sync"
)

// corkConn is the connection of a client. While it is corked it keeps what is written; uncorking
// sends that with one write. net/http sends a chunk that does not fit its buffer with three writes.
// It does what TCP_CORK does, without system calls. It is safe for concurrent use.
type corkConn struct {
	net.Conn
	mu       sync.Mutex
	isCorked bool
	held     *[]byte // nil for nothing
}

// corkBuffers are shared, because few connections are corked at a time.
var corkBuffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	// corkFrom is the length of a write, in bytes, above which the buffers of net/http may not
	// hold it together with its header and the frame of its chunk.
	corkFrom = 2 << 10
	// corkTo is the length of a write, in bytes, up to which it is corked.
	corkTo = 64 << 10
)

func (c *corkConn) cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCorked = true
}

// uncork sends what was written since cork. The connection stays corked while it sends, so that
// another write does not wait for a client that stopped reading: closing a TLS connection writes
// an alert, and would wait.
func (c *corkConn) uncork() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.held != nil && err == nil {
		err = c.sendHeld()
	}
	c.isCorked, c.held = false, nil
	return err
}

// sendHeld sends what is kept; mu is held, but not during the write.
func (c *corkConn) sendHeld() error {
	sent := c.held
	c.held = nil
	c.mu.Unlock()
	_, err := c.Conn.Write(*sent)
	*sent = (*sent)[:0]
	corkBuffers.Put(sent)
	c.mu.Lock()
	return err
}

// Write sends p, or keeps a copy of it until uncork, which then has the error.
func (c *corkConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isCorked {
		return c.Conn.Write(p)
	}
	if c.held == nil {
		c.held = corkBuffers.Get().(*[]byte)
	}
	*c.held = append(*c.held, p...)
	return len(p), nil
}

// CloseWrite closes the writing side only: net/http does so before it closes a connection whose
// request it did not read to its end.
func (c *corkConn) CloseWrite() error {
	if conn, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return nil
}

// NetConn returns the connection that is written to.
func (c *corkConn) NetConn() net.Conn { return c.Conn }

type corkKey struct{}

// withCork returns the context of a connection over conn.
func withCork(ctx context.Context, conn *corkConn) context.Context {
	return context.WithValue(ctx, corkKey{}, conn)
}

// corkOf returns the connection that a request came by, nil for none.
func corkOf(ctx context.Context) *corkConn {
	conn, _ := ctx.Value(corkKey{}).(*corkConn)
	return conn
}
