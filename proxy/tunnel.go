package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// tunnel is the connection of a client that sent CONNECT for address.
type tunnel struct {
	net.Conn
	address string
	session string
}

// Host is the name the certificate must bear; ca.Named.
func (t *tunnel) Host() string {
	host, _ := splitHost(t.address)
	return host
}

// tunnelListener gives hijacked connections to an http.Server, which then
// tracks them as it does its own.
type tunnelListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newTunnelListener() *tunnelListener {
	return &tunnelListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

var errTunnelsClosed = errors.New("the proxy is closing")

func (l *tunnelListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, errTunnelsClosed
	}
}

func (l *tunnelListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr satisfies net.Listener; nobody dials a tunnel listener.
func (l *tunnelListener) Addr() net.Addr { return &net.TCPAddr{} }

// open tells the client its tunnel stands and serves TLS in it.
func (l *tunnelListener) open(conn *tunnel, config *tls.Config) {
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		_ = conn.Close()
		return
	}
	select {
	case l.conns <- tls.Server(conn, config):
	case <-l.closed:
		_ = conn.Close()
	}
}

type tunnelKey struct{}

// withTunnel notes in every request's context the tunnel it came through.
func withTunnel(ctx context.Context, conn net.Conn) context.Context {
	t := conn.(*tls.Conn).NetConn().(*tunnel)
	return withSession(context.WithValue(ctx, tunnelKey{}, t), t.session)
}

// eagerHijacker keeps what a client sent right behind its CONNECT: goproxy
// drops the buffered reader that comes with a hijacked connection.
type eagerHijacker struct{ http.ResponseWriter }

func (w eagerHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil || rw.Reader.Buffered() == 0 {
		return conn, rw, err
	}
	return &bufferedConn{conn, rw.Reader}, rw, nil
}

type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }
