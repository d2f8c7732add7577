package proxy

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// wrapHandler wraps what happens to every request, by either ingress.
func (p *Proxy) wrapHandler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.requests.begin() {
			panic(http.ErrAbortHandler)
		}
		defer p.requests.end()
		r.Header.Del("Proxy-Authorization") // pitfall G19, also where a client repeats it inside a tunnel
		out := &streamWriter{ResponseWriter: w, flush: http.NewResponseController(w).Flush, hasChunks: r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1)}
		if r.ProtoMajor == 1 {
			out.cork = corkOf(r.Context()) // that of HTTP/2 is shared with other requests
		}
		ctx := context.WithValue(r.Context(), selfKey{}, p)
		if status := upgradeStatus(r); status != 0 {
			if !p.admitsWebSocket(r) {
				p.refuseRequest(out, r, Upgrade, status, r.URL.Path+": a WebSocket, which is not recorded; use plain HTTP streaming")
				return
			}
			var cut context.CancelFunc
			ctx, cut = context.WithCancel(websocket.WithClosing(ctx, p.lifetime.Done()))
			defer cut()
			defer context.AfterFunc(p.sockets, cut)()
		}
		next.ServeHTTP(out, r.WithContext(ctx))
		if !out.started {
			out.WriteHeader(http.StatusOK)
		}
	})
}

// upgradeStatus returns the status that refuses a request to leave HTTP, as
// WebSocket clients send it (pitfall G16); 0 for every other request. Clients try
// HTTP at once after 426, and only after several attempts after 501.
func upgradeStatus(r *http.Request) int {
	switch {
	case r.Method == http.MethodConnect:
		return http.StatusNotImplemented
	case r.Header.Get("Upgrade") != "" && !strings.EqualFold(r.Header.Get("Upgrade"), "h2c"):
		return http.StatusUpgradeRequired
	}
	return 0
}

// admitsWebSocket reports whether the Handler answers the handshake r: that of a client of
// OpenAI's Responses API, over HTTP/1.1, where Config.WebSocket lets it.
func (p *Proxy) admitsWebSocket(r *http.Request) bool {
	return p.cfg.WebSocket != nil && websocket.IsUpgrade(r) && llm.IsResponses(r.URL.Path) && p.cfg.WebSocket(r)
}

// hopByHop are the headers that belong to one connection and not to the message,
// and those that would lead the client around the proxy (pitfall G13).
var hopByHop = []string{"Alt-Svc", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Transfer-Encoding", "Upgrade"}

// streamWriter sends every Write to the client at once, whatever its content
// type (pitfall G6), and removes hop-by-hop headers.
type streamWriter struct {
	http.ResponseWriter
	flush     func() error
	cork      *corkConn // nil where nothing is to be corked
	hasChunks bool      // the client speaks HTTP/1.1, where a body of unknown length is sent in chunks
	started   bool      // a status was written
	flushed   bool      // and a part of the body reached the client
}

func (w *streamWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.started = true
	}
	if status == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(status) // its Connection and Upgrade are the answer
		return
	}
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	if w.started && w.hasChunks && w.Header().Get("Content-Length") == "" {
		w.Header().Set("Transfer-Encoding", "chunked") // net/http would announce the length of what it has as a whole
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *streamWriter) Write(p []byte) (n int, err error) {
	if w.cork != nil && len(p) > corkFrom && len(p) <= corkTo {
		w.cork.cork()
		defer func() {
			if uncorked := w.cork.uncork(); err == nil {
				err = uncorked
			}
		}()
	}
	if n, err = w.writeBody(p); err == nil {
		w.flushed, err = true, w.flush()
	}
	return n, err
}

// WriteEnd writes the last bytes of a reply. They reach the client together with its end:
// when the handler returns, or at once where the announced length is the end. The first bytes
// are sent at once, too, if they are the last and have no chunks: net/http would announce the
// length of a reply that it has as a whole.
func (w *streamWriter) WriteEnd(last []byte) (int, error) {
	if !w.flushed && !w.hasChunks || w.Header().Get("Content-Length") != "" {
		return w.Write(last)
	}
	return w.writeBody(last)
}

func (w *streamWriter) writeBody(p []byte) (int, error) {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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

// closeAndWait admits nothing further and returns when the last one has
// ended.
func (f *inflight) closeAndWait() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.wg.Wait()
}
