package proxy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/route"
)

// origins are the hosts a base URL stands for. Vertex is not among them: its
// paths do not tell the region.
var origins = map[string]string{
	route.Anthropic: "api.anthropic.com",
	route.OpenAI:    "api.openai.com",
	route.Gemini:    "generativelanguage.googleapis.com",
}

// baseURL serves clients that use the proxy's own URL as the provider's. They
// are passed on as if they had come through a tunnel, so that one cassette
// serves both doors.
func (p *Proxy) baseURL(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(p.cfg.Doors, BaseURL) {
		p.answer(w, r, Refused, http.StatusForbidden, "this is a proxy: use it by HTTPS_PROXY, or open the plain door with --ingress base-url")
		return
	}
	provider, path := providerOf(r.URL.Path)
	if provider == "" {
		p.answer(w, r, Refused, http.StatusNotFound, r.URL.Path+": no provider's path; begin it with /anthropic, /openai or /gemini")
		return
	}
	r.URL.Scheme, r.URL.Host = "https", origins[provider]
	if r.URL.RawPath != "" {
		_, r.URL.RawPath = providerOf(r.URL.RawPath)
	}
	r.URL.Path, r.Host = path, origins[provider]
	p.cfg.Handler.ServeHTTP(w, r)
}

// providerOf tells whose API a path belongs to, and the path there: by its
// first segment, /anthropic, /openai or /gemini, else by what it asks for.
func providerOf(path string) (provider, rest string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if origins[first] != "" {
		return first, "/" + rest
	}
	if strings.Contains(path, "/publishers/") {
		return "", path
	}
	return route.Provider("", path), path
}
