package inspector

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"html"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/internal/webpage"
)

// Server serves pages on this machine to clients that know its address. It answers reads
// only, for its own host names only, and to no page of another origin. It is safe for
// concurrent use.
type Server struct {
	secret string
	host   string // address of the listener
	feeds  []NamedFeed
}

// NamedFeed is one page of a server.
type NamedFeed struct {
	Name string
	*Feed
}

// NewServer serves feeds at the address of a listener, HOST:PORT.
func NewServer(address string, feeds []NamedFeed) *Server {
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails, by its own contract
	return &Server{secret: base64.RawURLEncoding.EncodeToString(secret), host: address, feeds: feeds}
}

// URL is where the pages are. It holds the secret that admits a browser.
func (s *Server) URL() string { return "http://" + s.host + "/" + s.secret + "/" }

// ServeHTTP serves the list of pages, or the only one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if !s.isOwnHost(r.Host) || webpage.IsForeign(r) {
		http.Error(w, "this address is for a browser on this machine", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this server only shows", http.StatusMethodNotAllowed)
		return
	}
	given, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(given), []byte(s.secret)) != 1 {
		http.NotFound(w, r)
		return
	}
	s.serveBelow(w, r, rest)
}

// serveBelow serves what lies below the secret.
func (s *Server) serveBelow(w http.ResponseWriter, r *http.Request, path string) {
	if path == "" && len(s.feeds) != 1 {
		s.serveList(w)
		return
	}
	feed := 0
	if len(s.feeds) != 1 {
		number, rest, isBelow := strings.Cut(path, "/")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(s.feeds) || !isBelow {
			http.NotFound(w, r)
			return
		}
		feed, path = n, rest
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/" + path
	s.feeds[feed].ServeHTTP(w, r)
}

// serveList lists the pages.
func (s *Server) serveList(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	style := joinFiles(styleFiles)
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; frame-ancestors 'none'; style-src "+sourceHash(style))
	fmt.Fprintf(w,
		"<!doctype html><html lang=en><meta charset=utf-8><title>conform: reports</title><style>%s</style><main><div class=page><h1>Reports</h1><section class=card><table class=plain>", style)
	for i, f := range s.feeds {
		p := f.Page()
		fmt.Fprintf(w,
			"<tr><td><span class=\"verdict v-%[1]s\">%[1]s</span><td><a href=\"%[2]d/\">%[3]s</a><td class=muted>%[4]s<td class=r>%[5]d cases",
			html.EscapeString(p.state()), i, html.EscapeString(f.Name), html.EscapeString(p.windowTitle()), len(p.Cases))
	}
	fmt.Fprint(w, "</table></section></div></main>")
}

// isOwnHost reports whether a request names this server by an address of this machine.
// Another name that leads here is an attempt to read the pages from another site.
func (s *Server) isOwnHost(host string) bool {
	own, port, err := net.SplitHostPort(s.host)
	name, asked, errAsked := net.SplitHostPort(host)
	if err != nil || errAsked != nil || asked != port {
		return false
	}
	return name == own || name == "localhost" || name == "127.0.0.1" || name == "::1"
}
