package proxy

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// origins are the hosts that a base URL stands for. Vertex has several: see
// vertexHost.
var origins = map[string]string{
	llm.Anthropic: "api.anthropic.com",
	llm.OpenAI:    "api.openai.com",
	llm.Gemini:    "generativelanguage.googleapis.com",
}

// baseURL serves clients that use the proxy's URL as the provider's. Requests
// are passed on as if they had come through a tunnel, so that one cassette
// serves both kinds of ingress.
func (p *Proxy) baseURL(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(p.cfg.Ingress, BaseURL) {
		p.refuseRequest(w, r, Refused, http.StatusForbidden, "this is a proxy: use it by HTTPS_PROXY, or allow base URLs with --ingress base-url")
		return
	}
	if why := p.foreignReason(r); why != "" {
		p.refuseRequest(w, r, Refused, http.StatusForbidden, why)
		return
	}
	origin, path := originOf(r.URL.Path)
	if !p.allowed.allows(origin) {
		p.refuseRequest(w, r, Refused, http.StatusNotFound, r.URL.Path+": no provider's path; begin it with /anthropic, /openai, /gemini or /vertex")
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

// foreignReason detects a request from a web page in a browser on this machine:
// it may send requests to any local port, and read the replies under a host name
// it has rebound. It returns "" for other requests. A credential keeps pages out
// as well, so the check is skipped when one is set, and clients elsewhere may
// use their own name for this machine.
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
	page := r.Header.Get("Origin")
	u, err := url.Parse(page)
	switch {
	case page == "":
		return ""
	case err != nil || u.Host == "": // its text may have a password in it
		return "the Origin of the request names no host: a web page of another site may not use this proxy"
	case !isLoopbackHost(u.Hostname()):
		return u.Scheme + "://" + u.Host + ": a web page of another site may not use this proxy"
	}
	return ""
}

// isLoopbackHost reports whether a host is this machine itself.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// originOf returns which host a path is for, and the path there: by its first
// segment, /anthropic, /openai, /gemini or /vertex, else by what it asks for.
func originOf(path string) (origin, rest string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case origins[first] != "":
		return origins[first], "/" + rest
	case first == "vertex":
		return vertexHost("/" + rest), "/" + rest
	case strings.Contains(path, "/publishers/"):
		return vertexHost(path), path
	}
	return origins[llm.Provider("", path)], path
}

// vertexHost returns the host of a Vertex path by the location it names
// (/v1/projects/P/locations/L/publishers/…): one global host, one for each
// multi-region, one for each region. An unknown location gives a name that is
// not allowed.
func vertexHost(path string) string {
	const host = "aiplatform.googleapis.com"
	_, rest, _ := strings.Cut(path, "/locations/")
	switch location, _, _ := strings.Cut(rest, "/"); location {
	case "", "global":
		return host
	case "eu", "us":
		return "aiplatform." + location + ".rep.googleapis.com"
	default:
		return location + "-" + host
	}
}
