package gemini

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/seal"
)

const (
	unary  = "generateContent"
	stream = "streamGenerateContent"
	count  = "countTokens"
)

// route is what a path asks for.
type route struct {
	version string // "v1beta"
	// prefix is what Vertex puts before the model, "projects/P/locations/L/",
	// possibly empty.
	prefix string
	vertex bool
	model  string
	method string
}

// routeOf reads the paths of the Developer API, /VERSION/models/MODEL:METHOD,
// and of Vertex, /VERSION/[projects/P/locations/L/]publishers/google/models/MODEL:METHOD.
func routeOf(path string) (route, bool) {
	version, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok || !strings.HasPrefix(version, "v1") {
		return route{}, false
	}
	r := route{version: version}
	const publisher = "publishers/google/"
	if at := strings.Index(rest, publisher); at == 0 || at > 0 && strings.HasPrefix(rest, "projects/") {
		r.vertex, r.prefix, rest = true, rest[:at], rest[at+len(publisher):]
	}
	called, ok := strings.CutPrefix(rest, "models/")
	if !ok {
		return route{}, false
	}
	r.model, r.method, _ = strings.Cut(called, ":")
	return r, r.model != "" && !strings.Contains(r.model, "/")
}

func (r route) generates() bool { return r.method == unary || r.method == stream }

// resourceName is the resource name of the model in the provider's words.
func (r route) resourceName() string {
	if r.vertex {
		return r.prefix + "publishers/google/models/" + r.model
	}
	return "models/" + r.model
}

func formOf(r *http.Request, method string) script.Form {
	switch {
	case method != stream:
		return script.FormUnary
	case strings.Contains(r.URL.RawQuery, "alt=sse"):
		return script.FormSSE
	}
	return script.FormArray
}

// credentialOf is the key or the token that a request carries, "" without one.
func credentialOf(r *http.Request) string {
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return key
	}
	if r.URL.RawQuery != "" {
		if key := r.URL.Query().Get("key"); key != "" {
			return key
		}
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return bearer
}

// accountOf is whose request it is: the project where the path names one, since
// tokens of access expire, else that of the key.
func accountOf(r *http.Request, to route) string {
	if to.prefix != "" {
		return to.prefix
	}
	return seal.Account(credentialOf(r))
}
