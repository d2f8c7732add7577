package proxy

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// origins are the hosts a base URL stands for. Vertex has no one host: see
// vertexHost.
var origins = map[string]string{
	llm.Anthropic: "api.anthropic.com",
	llm.OpenAI:    "api.openai.com",
	llm.Gemini:    "generativelanguage.googleapis.com",
}

// baseURL serves clients that use the proxy's own URL as the provider's. They
// are passed on as if they had come through a tunnel, so that one cassette
// serves both doors.
func (p *Proxy) baseURL(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(p.cfg.Ingress, BaseURL) {
		p.refuseRequest(w, r, Refused, http.StatusForbidden, "this is a proxy: use it by HTTPS_PROXY, or open the plain door with --ingress base-url")
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
	p.cfg.Handler.ServeHTTP(w, r)
}

// foreignReason says what betrays a request of a web page that somebody has open
// beside the proxy: it may send such requests to any port of this machine, and
// read the replies under a host name it has rebound. A credential keeps them
// out as well, and then clients elsewhere have their own name for this machine.
func (p *Proxy) foreignReason(r *http.Request) string {
	if p.cfg.Credential != "" {
		return ""
	}
	if host, _ := splitHost(r.Host); !isLoopbackHost(host) && !p.allowed.allows(r.Host) {
		return r.Host + ": not an address of this proxy; use 127.0.0.1, or name it with --allow-host"
	}
	page := r.Header.Get("Origin")
	if u, err := url.Parse(page); page != "" && (err != nil || !isLoopbackHost(u.Hostname())) {
		return page + ": a web page of another site may not use this proxy"
	}
	return ""
}

// isLoopbackHost reports whether a host is this machine's own and nobody else's.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// originOf tells which host a path is for, and the path there: by its first
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

// vertexHost is the host that a Vertex path belongs to, by the location it
// names (/v1/projects/P/locations/L/publishers/…): one for all the world, one
// for each multi-region, one for each region. A location without one gives a
// name that is not allowed.
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
