package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/elazarl/goproxy"
)

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
			p.refuseRequest(w, r, Refused, http.StatusForbidden, r.URL.Host+": plain HTTP is not intercepted; use https")
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
		ctx.Resp = p.refusalResponse(ctx.Req, address+": tunnels are closed; open them with --ingress mitm") //nolint:bodyclose // goproxy closes it
	case !p.allowed.allows(address):
		ctx.Resp = p.refusalResponse(ctx.Req, p.notAllowed(address)) //nolint:bodyclose // goproxy closes it
	default:
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack,
			Hijack: func(r *http.Request, conn net.Conn, _ *goproxy.ProxyCtx) {
				p.openTunnel(&tunnel{Conn: conn, address: address, session: Session(r.Context()), cork: corkOf(r.Context()), client: r.Context().Value(clientKey{})}) //nolint:contextcheck // the tunnel outlives its CONNECT
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
		p.refuseRequest(w, r, Refused, http.StatusMisdirectedRequest, fmt.Sprintf("%s: asked for inside a tunnel to %s; open a tunnel to it", r.Host, t.address))
	default:
		r.URL.Scheme, r.URL.Host = "https", urlHost(r.Host)
		p.cfg.Handler.ServeHTTP(w, r)
	}
}
