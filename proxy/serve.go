package proxy

import (
	"context"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// wrapHandler does what every request needs, by either ingress, before and after next.
func (p *Proxy) wrapHandler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.requests.begin() {
			panic(http.ErrAbortHandler)
		}
		defer p.requests.end()
		r.Header.Del("Proxy-Authorization") // pitfall G19, also where a client repeats it inside a tunnel
		out := &streamWriter{ResponseWriter: w, flush: http.NewResponseController(w).Flush,
			hasChunks: r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1)}
		if r.ProtoMajor == 1 {
			out.cork = corkOf(r.Context()) // a connection of HTTP/2 is shared with other requests
		}
		ctx := context.WithValue(r.Context(), selfKey{}, p)
		if status := upgradeStatus(r); status != 0 {
			if !p.admitsWebSocket(r) {
				p.refuseRequest(out, r, Upgrade, status,
					r.URL.Path+": a WebSocket, which is not recorded; use plain HTTP streaming")
				return
			}
			var release func()
			ctx, release = p.webSocketContext(ctx)
			defer release()
		}
		next.ServeHTTP(out, r.WithContext(ctx))
		if !out.started {
			out.WriteHeader(http.StatusOK)
		}
	})
}

// webSocketContext returns the context of a WebSocket: while Close waits, the WebSocket ends
// after the reply under way; when Close stops waiting, it is cut.
func (p *Proxy) webSocketContext(ctx context.Context) (_ context.Context, release func()) {
	ctx, cut := context.WithCancel(websocket.WithClosing(ctx, p.lifetime.Done()))
	stop := context.AfterFunc(p.webSockets, cut)
	return ctx, func() { stop(); cut() }
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
	return p.cfg.WebSocket != nil && websocket.IsUpgrade(r) && llm.TakesSockets(r.URL.Path) && p.cfg.WebSocket(r)
}
