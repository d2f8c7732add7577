package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// ErrInUse is returned by Start when another program uses the address.
var ErrInUse = errors.New("already in use; choose another address with --listen")

// ingressListener is a listener and the session of its callers, "" for none.
type ingressListener struct {
	net.Listener
	session string
}

// Accept returns the next client's connection.
func (l ingressListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &corkConn{Conn: conn}, nil
}

// listenAll binds every address of cfg, the main one first. When one cannot be bound, it
// closes the others.
func (cfg Config) listenAll() ([]ingressListener, error) {
	var open []ingressListener
	var err error
	if cfg.Listener != nil {
		open = append(open, ingressListener{cfg.Listener, ""})
	} else {
		open, err = bindAddress(nil, "", cfg.Listen)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Sessions)) {
		if err == nil {
			open, err = bindAddress(open, name, cfg.Sessions[name])
		}
	}
	if err != nil {
		for _, l := range open {
			_ = l.Close()
		}
		return nil, err
	}
	return open, nil
}

func bindAddress(open []ingressListener, session, address string) ([]ingressListener, error) {
	l, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return open, fmt.Errorf("%s: %w", address, ErrInUse)
	case err != nil:
		return open, fmt.Errorf("%s: cannot listen there: %w", address, err)
	}
	return append(open, ingressListener{l, session}), nil
}

// sessionOf returns the context of every connection that l accepts.
func sessionOf(l net.Listener) context.Context {
	if l, ok := l.(ingressListener); ok && l.session != "" {
		return withSession(context.Background(), l.session)
	}
	return context.Background()
}

func (p *Proxy) listenerOf(session string) net.Listener {
	for _, l := range p.listeners {
		if session != "" && l.session == session {
			return l
		}
	}
	return nil
}

// isOwnListener reports whether conn leads to one of p's own listeners. A
// listener on every address is reached by any address of this machine.
func (p *Proxy) isOwnListener(conn net.Conn) bool {
	to, ok := conn.RemoteAddr().(*net.TCPAddr)
	from, ok2 := conn.LocalAddr().(*net.TCPAddr)
	return ok && ok2 && slices.ContainsFunc(p.listeners, func(l ingressListener) bool {
		at, ok := l.Addr().(*net.TCPAddr)
		return ok && at.Port == to.Port &&
			(at.IP.Equal(to.IP) || at.IP.IsUnspecified() && (to.IP.IsLoopback() || to.IP.Equal(from.IP)))
	})
}

// checkListen refuses addresses that other machines could reach, unless a
// credential is set.
func checkListen(address, credential string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: use host:port, for example 127.0.0.1:8080", address)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() || credential != "" {
		return nil
	}
	return fmt.Errorf("listen address %q: other machines could use the proxy there; name a credential with --credential-file or RECORDER_CREDENTIAL, or use 127.0.0.1", address)
}

// checkCallers checks the credential, the session names and every address of cfg.
func (cfg Config) checkCallers() error {
	if cfg.Credential != "" {
		if err := CheckCredential(cfg.Credential); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Sessions)) {
		if err := checkSession(name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if err := checkListen(cfg.Sessions[name], cfg.Credential); err != nil {
			return err
		}
	}
	return checkListen(cfg.mainAddress(), cfg.Credential)
}

// mainAddress returns the address that clients reach without a session.
func (cfg Config) mainAddress() string {
	if cfg.Listener != nil {
		return cfg.Listener.Addr().String()
	}
	return cfg.Listen
}

// hostSet holds the "name:port" pairs that may be intercepted.
type hostSet map[string]bool

func newHostSet(extra []string) (hostSet, error) {
	set := hostSet{}
	for _, name := range slices.Concat(llm.Hosts(), extra) {
		host, port := splitHost(name)
		if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" || strings.ContainsAny(name, "/*?@ ") {
			return nil, fmt.Errorf("host %q: write a name or name:port, without a scheme or wildcard", name)
		}
		set[net.JoinHostPort(host, port)] = true
	}
	return set, nil
}

// allows reports whether a client may reach address, "name" or "name:port".
func (s hostSet) allows(address string) bool {
	return s[net.JoinHostPort(splitHost(address))]
}

// hostNames returns the hosts without their ports, as they stand in
// certificates.
func (s hostSet) hostNames() []string {
	var names []string
	for address := range s {
		host, _ := splitHost(address)
		names = append(names, host)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Hosts lists every host name that a proxy with these extra hosts intercepts,
// including the providers': the names its authority must be issued for.
func Hosts(extra []string) ([]string, error) {
	set, err := newHostSet(extra)
	return set.hostNames(), err
}

// Intercepts reports whether requests to u that come through the proxy are
// handled: others are refused, and plain HTTP does not come through it.
func (p *Proxy) Intercepts(u *url.URL) bool {
	return u.Scheme == "https" && p.allowed.allows(u.Host)
}

// splitHost separates a host, in lower case, from its port; 443 when it has
// none.
func splitHost(address string) (host, port string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), "443"
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), port
}

// urlHost returns address as it stands in a URL: without the port when it is
// that of https.
func urlHost(address string) string {
	host, port := splitHost(address)
	if port != "443" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// inflight counts what runs, requests or handshakes, so that Close can wait for
// the last one.
type inflight struct {
	mu     sync.Mutex
	wg     sync.WaitGroup
	closed bool
}

func (f *inflight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.wg.Add(1)
	}
	return !f.closed
}

func (f *inflight) end() { f.wg.Done() }

// closeAndWait admits nothing further and returns when the last one has ended.
func (f *inflight) closeAndWait() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.wg.Wait()
}
