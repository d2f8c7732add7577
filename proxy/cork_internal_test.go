package proxy

import (
	"bytes"
	"net"
	"testing"
	"time"
)

// stuckConn is the connection of a client that stopped reading, until it is released.
type stuckConn struct {
	net.Conn
	entered, released chan struct{}
	got               bytes.Buffer
}

func (c *stuckConn) Write(p []byte) (int, error) {
	c.entered <- struct{}{}
	<-c.released
	return c.got.Write(p)
}

// crypto/tls writes an alert before it closes a connection. It must not wait for what is being
// sent to a client that stopped reading, and follows it where the client reads on.
func TestWriteWhileUncorking(t *testing.T) {
	stuck := &stuckConn{entered: make(chan struct{}, 2), released: make(chan struct{})}
	c := &corkConn{Conn: stuck}
	c.cork()
	_, _ = c.Write([]byte("chunk, "))
	sent, alerted := make(chan error, 1), make(chan error, 1)
	go func() { sent <- c.uncork() }()
	<-stuck.entered
	go func() {
		_, err := c.Write([]byte("alert"))
		alerted <- err
	}()
	select {
	case <-alerted:
	case <-time.After(10 * time.Second):
		t.Error("the alert waits for the client")
	}
	close(stuck.released)
	if err := <-sent; err != nil || stuck.got.String() != "chunk, alert" {
		t.Errorf("%v, %q", err, &stuck.got)
	}
}
