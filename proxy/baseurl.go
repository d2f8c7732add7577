package proxy

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/webpage"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/wires"
)

// baseURL serves clients that use the proxy's URL as the provider's. Requests
// are passed on as if they had come through a tunnel, so that one cassette
// serves both kinds of ingress.
func (p *Proxy) baseURL(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(p.cfg.Ingress, BaseURL) {
		p.refuseRequest(w, r, Refused, http.StatusForbidden,
			"this is a proxy: use it by HTTPS_PROXY, or allow base URLs with --ingress base-url")
		return
	}
	if why := p.foreignReason(r); why != "" {
		p.refuseRequest(w, r, Refused, http.StatusForbidden, why)
		return
	}
	origin, path := originOf(r.URL.Path)
	if !p.allowed.allows(origin) {
		p.refuseRequest(w, r, Refused, http.StatusNotFound,
			r.URL.Path+": no provider's path; begin it with "+wires.List(append(prefixes(), vertexPrefix)))
		return
	}
	if r.URL.RawPath != "" {
		_, r.URL.RawPath = originOf(r.URL.RawPath)
	}
	r.URL.Scheme, r.URL.Host, r.URL.Path, r.Host = "https", origin, path, origin
	p.cfg.Handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), baseURLKey{}, true)))
}

type baseURLKey struct{}

// CameByBaseURL reports whether the client used the proxy's address as the provider's
// base URL, so that the host in the request's URL is the proxy's addition. ctx is the
// request's, or derived from it.
func CameByBaseURL(ctx context.Context) bool { return ctx.Value(baseURLKey{}) != nil }

// foreignReason returns why a request may come from a web page in a browser on this machine,
// "" when it cannot. A page may send requests to any local port, and may read the replies by
// rebinding a host name of its own. A credential keeps pages out as well: with one nothing is
// checked, so that clients on other machines, and a page of the user's, may use any name for this one.
func (p *Proxy) foreignReason(r *http.Request) string {
	if p.cfg.Credential != "" {
		return ""
	}
	if host, _ := splitHost(r.Host); !isLoopbackHost(host) && !p.allowed.allows(r.Host) {
		why := r.Host + ": not an address of this proxy; use 127.0.0.1"
		if p.cfg.AllowFlag != "" {
			why += ", or name it with " + p.cfg.AllowFlag
		}
		return why
	}
	if !webpage.IsForeign(r) {
		return ""
	}
	page := "a web page"
	if u, err := url.Parse(r.Header.Get("Origin")); err == nil && u.Host != "" { // its text may have a password in it
		page = "a web page of " + u.Scheme + "://" + u.Host
	}
	return page + " may not use this proxy; if it is yours, ask for a credential and write that into its base URL"
}

// isLoopbackHost reports whether a host is this machine itself.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// vertexPrefix begins the paths of a client that calls Vertex.
const vertexPrefix = "/vertex"

// prefixes are what the paths of clients begin with, by the names of the wires.
func prefixes() (list []string) {
	for _, name := range wires.Names() {
		list = append(list, "/"+name)
	}
	return list
}

// originOf returns the host that a path below the base URL is for, and the path there. The
// first segment decides, the name of a wire or vertex, or else what the path asks for.
func originOf(path string) (origin, rest string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case llm.Host(first) != "":
		return llm.Host(first), "/" + rest
	case "/"+first == vertexPrefix:
		return llm.CloudHost("/" + rest), "/" + rest
	case strings.Contains(path, "/publishers/"):
		return llm.CloudHost(path), path
	}
	return llm.Host(llm.Provider("", path)), path
}
