package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/elazarl/goproxy"
)

// tunnel is the connection of a client that sent CONNECT for address.
type tunnel struct {
	net.Conn
	address string
	session string
	cork    *corkConn   // the connection below Conn
	client  any         // what withClient put into the context of the connection
	used    atomic.Bool // at least one request came through it
	agreed  bool        // the TLS handshake is done
	tail    [7]byte     // what was read last, until the handshake is done
}

// Read reads from the connection and remembers the last bytes until the TLS
// handshake is done.
func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if !t.agreed {
		kept := min(n, len(t.tail))
		copy(t.tail[:], t.tail[kept:])
		copy(t.tail[len(t.tail)-kept:], p[n-kept:n])
	}
	return n, err
}

// fatalAlert returns the unencrypted fatal alert that the client sent last, or
// nil. OpenSSL refuses a certificate with one where crypto/tls expects encrypted
// data and sees only a bad record.
func (t *tunnel) fatalAlert() error {
	// A record of type alert (21), version 3.x and length 2, with level fatal (2).
	if t.tail[0] != 21 || t.tail[1] != 3 || t.tail[3] != 0 || t.tail[4] != 2 || t.tail[5] != 2 {
		return nil
	}
	return tls.AlertError(t.tail[6])
}

// NetConn returns the client's connection. A replayer resets it to end a reply as it ended
// when it was recorded.
func (t *tunnel) NetConn() net.Conn { return t.Conn }

// Host returns the name that the certificate must have; see TLSConfig of package ca.
func (t *tunnel) Host() string {
	host, _ := splitHost(t.address)
	return host
}

// tunnelListener passes hijacked connections to an http.Server, which then
// tracks them as it does its own.
type tunnelListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
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

// Addr satisfies net.Listener. Nothing dials a tunnel listener.
func (l *tunnelListener) Addr() net.Addr { return &net.TCPAddr{} }

// openTunnel tells the client that its tunnel is open, does the TLS handshake
// and passes the connection to the inner server. Failures are reported: to the
// client most of them look like a reset.
func (p *Proxy) openTunnel(t *tunnel) {
	if !p.handshakes.begin() {
		_ = t.Close()
		return
	}
	agreed := p.agreeOnTLS(t)
	p.handshakes.end()
	if agreed == nil {
		_ = t.Close()
		return
	}
	select {
	case p.tunnels.conns <- agreed:
	case <-p.tunnels.closed:
		_ = t.Close()
	}
}

// agreeOnTLS does the handshake of a tunnel. When that fails, it reports why and returns nil.
func (p *Proxy) agreeOnTLS(t *tunnel) net.Conn {
	if _, err := io.WriteString(t, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.lifetime, p.innerServer.ReadHeaderTimeout)
	defer cancel()
	conn := tls.Server(t, p.tls)
	if err := conn.HandshakeContext(ctx); err != nil {
		if p.lifetime.Err() == nil {
			p.reportNotice(t.handshakeNotice(err))
		}
		return nil
	}
	t.agreed = true
	return conn
}

// handshakeGrace is how long a proxy that closes waits for handshakes. A client that refuses
// the certificate may have exited before its alert is read.
const handshakeGrace = 200 * time.Millisecond

// settleHandshakes admits no further handshake and gives those under way a moment, so that
// their failures are reported.
func (p *Proxy) settleHandshakes(ctx context.Context) {
	settled := make(chan struct{})
	go func() { p.handshakes.closeAndWait(); close(settled) }()
	ctx, cancel := context.WithTimeout(ctx, handshakeGrace)
	defer cancel()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// handshakeNotice says why the TLS handshake failed, and answers a client that
// speaks plain HTTP.
func (t *tunnel) handshakeNotice(err error) Notice {
	n := Notice{Kind: Handshake, Host: t.address, Session: t.session}
	if alert := t.fatalAlert(); alert != nil {
		err = &net.OpError{Op: "remote error", Err: alert}
	}
	remote, plain := (*net.OpError)(nil), tls.RecordHeaderError{}
	switch {
	case errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(err.Error(), "certificate"):
		n.Kind = Untrusted
		n.Text = fmt.Sprintf("%s: the client refused the proxy's certificate; make it trust what `recorder ca export` prints, or use --ingress base-url (%v)", t.address, err)
	case errors.As(err, &plain):
		n.Kind, n.Text = NoTLS, t.address+": the client spoke no TLS inside its tunnel; use https"
		_, _ = io.WriteString(t.Conn,
			"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"+
				refusalBody(n.Text))
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET):
		n.Text = t.address +
			": the client left while agreeing on TLS; if it failed, it does not trust what `recorder ca export` prints"
	case errors.Is(err, context.DeadlineExceeded):
		n.Text = t.address + ": the client took too long to agree on TLS"
	default:
		n.Text = fmt.Sprintf("%s: no TLS with the client: %v", t.address, err)
	}
	return n
}

// noticeUnusedTunnel reports a client that closed its tunnel without a request,
// as Node does when it does not trust a certificate.
func (p *Proxy) noticeUnusedTunnel(conn net.Conn, state http.ConnState) {
	t := conn.(*tls.Conn).NetConn().(*tunnel)
	if state == http.StateClosed && !t.used.Load() && p.lifetime.Err() == nil {
		p.reportNotice(Notice{Unused, t.address, t.session,
			t.address + ": the client closed its tunnel without a request"})
	}
}

type tunnelKey struct{}

// withTunnel puts the tunnel of a request into its context.
func withTunnel(ctx context.Context, conn net.Conn) context.Context {
	t := conn.(*tls.Conn).NetConn().(*tunnel)
	ctx = context.WithValue(context.WithValue(withCork(ctx, t.cork), tunnelKey{}, t), clientKey{}, t.client)
	return withSession(ctx, t.session)
}

// eagerHijacker keeps what a client sent immediately after its CONNECT: goproxy
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

// NetConn returns the connection below the buffer.
func (c *bufferedConn) NetConn() net.Conn { return c.Conn }

// connectHandler answers CONNECT, and passes base-URL requests on. It uses goproxy only to
// decide on CONNECT and to distinguish requests to a proxy from others; goproxy never dials.
func (p *Proxy) connectHandler() http.Handler {
	gp := goproxy.NewProxyHttpServer()
	gp.ConnectDial = nil // it would follow HTTPS_PROXY, possibly to ourselves
	gp.Tr = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("the proxy makes no connections of its own")
	}}
	gp.Logger = discard{}
	gp.NonproxyHandler = p.wrapHandler(http.HandlerFunc(p.baseURL))
	gp.OnRequest().HandleConnectFunc(p.handleConnect)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			w = eagerHijacker{w}
		case r.URL.IsAbs():
			p.refuseRequest(w, r, Refused, http.StatusForbidden,
				r.URL.Host+": plain HTTP is not intercepted; use https")
			return
		}
		gp.ServeHTTP(w, r)
	})
}

type discard struct{}

func (discard) Printf(string, ...any) {}

// handleConnect accepts tunnels to allowed hosts and refuses all others.
func (p *Proxy) handleConnect(address string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	switch {
	case !slices.Contains(p.cfg.Ingress, MITM):
		ctx.Resp = p.refusalResponse(ctx.Req,
			address+": tunnels are closed; open them with --ingress mitm") //nolint:bodyclose // goproxy closes it
	case !p.allowed.allows(address):
		ctx.Resp = p.refusalResponse(ctx.Req, p.notAllowed(address)) //nolint:bodyclose // goproxy closes it
	default:
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack,
			Hijack: func(r *http.Request, conn net.Conn, _ *goproxy.ProxyCtx) {
				p.openTunnel(&tunnel{Conn: conn, address: address, session: Session(r.Context()),
					cork:   corkOf(r.Context()),
					client: r.Context().Value(clientKey{})}) //nolint:contextcheck // the tunnel outlives its CONNECT
			}}, address
	}
	return goproxy.RejectConnect, address
}

func (p *Proxy) notAllowed(address string) string {
	if host := urlHost(address); host == "" || strings.HasPrefix(host, ":") {
		return fmt.Sprintf("%q: names no host, so nothing is sent; a tunnel is to HOST:PORT", address)
	}
	why := address + ": not a provider host, so nothing is sent there"
	if p.cfg.AllowFlag != "" {
		why += fmt.Sprintf("; %s %s intercepts it", p.cfg.AllowFlag, urlHost(address))
	}
	return why
}

// insideTunnel checks the inner request against the tunnel it came through and
// passes it on with its absolute URL.
func (p *Proxy) insideTunnel(w http.ResponseWriter, r *http.Request) {
	t := r.Context().Value(tunnelKey{}).(*tunnel)
	t.used.Store(true)
	switch {
	case !p.allowed.allows(r.Host):
		p.refuseRequest(w, r, Refused, http.StatusForbidden, p.notAllowed(r.Host))
	case urlHost(r.Host) != urlHost(t.address):
		p.refuseRequest(w, r, Refused, http.StatusMisdirectedRequest,
			fmt.Sprintf("%s: asked for inside a tunnel to %s; open a tunnel to it", r.Host, t.address))
	default:
		r.URL.Scheme, r.URL.Host = "https", urlHost(r.Host)
		p.cfg.Handler.ServeHTTP(w, r)
	}
}
