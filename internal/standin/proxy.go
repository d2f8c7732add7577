package standin

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// Proxy is a proxy as a company has one, which leads every tunnel to one server. It
// is an http.Handler.
type Proxy struct {
	To     string   // the server's address
	Login  string   // USER:PASSWORD, "" admits everybody
	Offers []string // how to log in, as Proxy-Authenticate says it; nil means Basic

	tunnels atomic.Int64
}

// Tunnels returns how many tunnels were opened.
func (p *Proxy) Tunnels() int { return int(p.tunnels.Load()) }

// ServeHTTP opens a tunnel for who logs in.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.Login)); p.Login != "" &&
		r.Header.Get("Proxy-Authorization") != want {
		w.Header()["Proxy-Authenticate"] = p.Offers
		if p.Offers == nil {
			w.Header().Set("Proxy-Authenticate", `Basic realm="standin"`)
		}
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	server, err := net.Dial("tcp", p.To) //nolint:noctx // a server of the same test
	if r.Method != http.MethodConnect || err != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	defer func() { _ = server.Close() }()
	client, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	p.tunnels.Add(1)
	defer func() { _ = client.Close() }()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	// The client may have begun before the connection was taken over.
	go func() { _, _ = io.Copy(server, early); _ = server.Close() }()
	_, _ = io.Copy(client, server)
}

// ReadFirst reads the body of a request before a handler sees it. A reverse proxy needs it: net/http
// closes the body of an HTTP/1 request with the first byte of the answer, and where the proxy has not
// seen the end of the body by then, it breaks off the answer.
func ReadFirst(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}
