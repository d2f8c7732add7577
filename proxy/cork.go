package proxy

import (
	"context"
	"net"
	"net/http"
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

// hopByHop are the headers that belong to one connection and not to the message,
// and those that would lead the client around the proxy (pitfall G13).
var hopByHop = []string{"Alt-Svc", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection",
	"Transfer-Encoding", "Upgrade"}

// streamWriter sends every Write to the client at once, whatever its content
// type (pitfall G6), and removes hop-by-hop headers.
type streamWriter struct {
	http.ResponseWriter
	flush     func() error
	cork      *corkConn // nil where nothing is to be corked
	hasChunks bool      // HTTP/1.1, in which a body of unknown length is sent in chunks
	started   bool      // the final status was written
	flushed   bool      // a part of the body was sent to the client
}

func (w *streamWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.started = true
	}
	if status == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(status) // its Connection and Upgrade are the answer
		return
	}
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	if w.started && w.hasChunks && w.Header().Get("Content-Length") == "" {
		w.Header().Set("Transfer-Encoding", "chunked") // or net/http adds the length of a reply that it has as a whole
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *streamWriter) Write(p []byte) (n int, err error) {
	if w.cork != nil && len(p) > corkFrom && len(p) <= corkTo {
		w.cork.cork()
		defer func() {
			if uncorked := w.cork.uncork(); err == nil {
				err = uncorked
			}
		}()
	}
	if n, err = w.writeBody(p); err == nil {
		w.flushed, err = true, w.flush()
	}
	return n, err
}

// WriteEnd writes the last bytes of a reply, so that they leave in one write with its end: when
// the handler returns. They leave at once where the reply has a Content-Length, which is its
// end, and where they are all of a reply without chunks: net/http would add the length of a
// reply that it has as a whole.
func (w *streamWriter) WriteEnd(last []byte) (int, error) {
	if !w.flushed && !w.hasChunks || w.Header().Get("Content-Length") != "" {
		return w.Write(last)
	}
	return w.writeBody(last)
}

func (w *streamWriter) writeBody(p []byte) (int, error) {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
