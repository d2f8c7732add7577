// Package proxy accepts an agent's requests and passes them to a handler: a
// recorder (package record shows the way of a reply to the file) or a replayer
// (package replay). Agents reach it as an intercepting HTTPS proxy ([MITM]) or,
// when asked for, by a plain base URL ([BaseURL]).
//
// Start with [Config] and [New]; [Proxy.URLFor] is what a client is given:
//
//	authority, err := ca.New(hosts, time.Now())
//	p, err := proxy.New(proxy.Config{CA: authority, Handler: recorder})
//	err = p.Start()
//	defer p.Close(ctx)
//	os.Setenv("HTTPS_PROXY", p.URLFor(proxy.MITM, ""))
//
// A Proxy listens on loopback unless Config.Listen names another address, which
// takes a credential. It sends nothing to hosts that are neither a provider's
// nor in Config.AllowHosts, and no page of another web site can use it. Each
// Write of the handler reaches the client at once.
//
// goproxy answers CONNECT. net/http serves what comes through the tunnels, which
// gives HTTP/2, 100-continue, isolated panics and requests that are cancelled
// when the client leaves.
package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// The values of Config.Ingress.
const (
	// MITM: clients use the proxy by HTTPS_PROXY and trust its certificate authority.
	MITM = "mitm"
	// BaseURL: clients use the proxy's URL as the base URL of their provider.
	BaseURL = "base-url"
)

// Config describes a Proxy. Handler is required, and CA with MITM.
type Config struct {
	// CA signs for the provider hosts and for AllowHosts.
	CA *ca.Authority
	// Listen is the address to bind; "" means 127.0.0.1 and any port. An address
	// beyond loopback requires a Credential.
	Listen string
	// Listener, if not nil, is used instead of Listen, under the same condition. Its
	// address is what clients are given. Close closes it.
	Listener net.Listener
	// Sessions maps names of sessions to further addresses to bind. A request that names
	// no session belongs to the session of its listener.
	Sessions map[string]string
	// Credential is what every caller must present; "" asks for none. It is never
	// logged, passed on or recorded.
	Credential string
	// Ingress is MITM, BaseURL or both; none means MITM.
	Ingress []string
	// AllowHosts are hosts to intercept in addition to the providers': "name" for
	// port 443, or "name:port".
	AllowHosts []string
	// AllowFlag is the flag by which a user adds to AllowHosts, such as "--allow-host".
	// Refusals name it; "" means that there is none.
	AllowFlag string
	// Handler receives the requests. Their URL is absolute, with the host that
	// the client meant. Each of its Writes reaches the client at once.
	Handler http.Handler
	// WebSocket reports whether a WebSocket to OpenAI's Responses endpoint reaches the
	// Handler, which has to answer the handshake. It is called for each such handshake;
	// nil refuses them all, as every other WebSocket is (pitfall G16).
	WebSocket func(*http.Request) bool
	// Log receives one line for each refusal and failure; nil discards them.
	Log func(line string)
	// Notice receives the same as Log in a form for programs, and tunnels that
	// were left unused. It may be called from several goroutines; nil discards
	// them.
	Notice func(Notice)
	// Identify, if not nil, returns a name for the process that opened a connection,
	// "" when it is unknown. It is called once for each connection, at its first
	// request, and may be called from several goroutines. See [Client].
	Identify func(conn net.Conn) string
	// HeaderTimeout is how long a client may take for the TLS handshake, and
	// again to send a request's header; 0 means 30 seconds.
	HeaderTimeout time.Duration
}

// Proxy serves between Start and Close. Its methods are safe for concurrent use
// after Start.
type Proxy struct {
	cfg         Config
	allowed     hostSet
	outerServer *http.Server // CONNECT and the base URL
	innerServer *http.Server // what comes out of tunnels
	tunnels     *tunnelListener
	listeners   []ingressListener // Config.Listen's first
	tls         *tls.Config       // shared by all tunnels, so that sessions resume
	requests    inflight
	handshakes  inflight
	refused     atomic.Int64
	upgrades    atomic.Int64

	lifetime      context.Context // until Close
	endLifetime   context.CancelFunc
	webSockets    context.Context // until Close stops waiting for WebSockets
	cutWebSockets context.CancelFunc
}

// New checks cfg and returns a proxy that does not listen yet.
func New(cfg Config) (*Proxy, error) {
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	if cfg.Notice == nil {
		cfg.Notice = func(Notice) {}
	}
	if len(cfg.Ingress) == 0 {
		cfg.Ingress = []string{MITM}
	}
	cfg.Listen = cmp.Or(cfg.Listen, "127.0.0.1:0")
	allowed, err := newHostSet(cfg.AllowHosts)
	if err == nil {
		err = cfg.checkConfig(allowed)
	}
	if err != nil {
		return nil, err
	}
	p := &Proxy{cfg: cfg, allowed: allowed,
		tunnels: &tunnelListener{conns: make(chan net.Conn), closed: make(chan struct{})}}
	p.outerServer = p.newServer(p.requireCaller(p.connectHandler()))
	p.outerServer.BaseContext, p.outerServer.ConnContext = sessionOf, p.withClient
	p.innerServer = p.newServer(p.wrapHandler(http.HandlerFunc(p.insideTunnel)))
	p.innerServer.ConnContext, p.innerServer.ConnState = withTunnel, p.noticeUnusedTunnel
	p.lifetime, p.endLifetime = context.WithCancel(context.Background())
	p.webSockets, p.cutWebSockets = context.WithCancel(context.Background())
	if cfg.CA != nil {
		p.tls = cfg.CA.TLSConfig()
	}
	return p, nil
}

func (cfg Config) checkConfig(allowed hostSet) error {
	if cfg.Handler == nil {
		return errors.New("proxy: no handler")
	}
	for _, ingress := range cfg.Ingress {
		if ingress != MITM && ingress != BaseURL {
			return fmt.Errorf("ingress %q: unknown; use %s or %s%s", ingress, MITM, BaseURL,
				spelling.Hint(ingress, []string{MITM, BaseURL}))
		}
	}
	if err := cfg.checkCallers(); err != nil {
		return err
	}
	if !slices.Contains(cfg.Ingress, MITM) {
		return nil
	}
	return checkAuthority(cfg.CA, allowed)
}

// checkAuthority refuses an authority that could not sign for every host.
func checkAuthority(a *ca.Authority, allowed hostSet) error {
	if a == nil {
		return errors.New("proxy: no authority to intercept with")
	}
	for _, host := range allowed.hostNames() {
		if !a.Permits(host) {
			return fmt.Errorf("%s: the authority was not issued for it; open it with every allowed host", host)
		}
	}
	return nil
}

func (p *Proxy) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: cmp.Or(p.cfg.HeaderTimeout, 30*time.Second),
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          log.New(firstLine(p.cfg.Log), "", 0),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
}

// firstLine passes on each log entry without the stack trace below it.
type firstLine func(string)

func (log firstLine) Write(entry []byte) (int, error) {
	line, _, _ := strings.Cut(string(entry), "\n")
	log(line)
	return len(entry), nil
}

// Start binds the addresses and serves until Close. A Proxy starts once.
func (p *Proxy) Start() error {
	open, err := p.cfg.listenAll()
	if err != nil {
		return err
	}
	p.listeners = open
	for _, l := range open {
		go func() { _ = p.outerServer.Serve(l) }() // until Close
	}
	go func() { _ = p.innerServer.Serve(p.tunnels) }()
	return nil
}

// URL returns the proxy's address, without a credential or a trailing slash, so
// it may be shown. Clients need URLFor. It is valid after Start.
func (p *Proxy) URL() string { return "http://" + clientAddress(p.listeners[0].Addr()) }

// Refused counts the requests that were refused: hosts and paths that are not
// served, and callers that are not admitted.
func (p *Proxy) Refused() int { return int(p.refused.Load()) }

// Upgrades counts the WebSockets that were refused (pitfall G16).
func (p *Proxy) Upgrades() int { return int(p.upgrades.Load()) }

// Close stops accepting and lets open requests finish; when ctx is done, it cuts those that
// are left. WebSockets end after the reply under way, TLS handshakes under way get a moment
// to end. When Close returns, no handler is running.
func (p *Proxy) Close(ctx context.Context) error {
	p.settleHandshakes(ctx)
	p.endLifetime()
	err := cmp.Or(p.outerServer.Shutdown(ctx), p.innerServer.Shutdown(ctx))
	_, _ = p.outerServer.Close(), p.innerServer.Close()
	stop := context.AfterFunc(ctx, p.cutWebSockets)
	p.requests.closeAndWait()
	stop()
	p.cutWebSockets()
	return err
}
