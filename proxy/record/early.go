package record

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
)

// forwardEarlyHints passes on interim responses (RFC 9110 §15.2), such as 103
// Early Hints, until done is called. A 100 concerns the request body, which has
// been sent already; a client of HTTP/1.0 knows no interim responses. They are
// not kept: they do not change the reply that follows.
func forwardEarlyHints(ctx context.Context, w http.ResponseWriter, r *http.Request) (traced context.Context, done func()) {
	if !r.ProtoAtLeast(1, 1) {
		return ctx, func() {}
	}
	var mu sync.Mutex // a transport may still receive one when it has given up
	over := false
	pass := func(status int, header textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		if over || status == http.StatusContinue {
			return nil
		}
		h := w.Header()
		before := h.Clone()
		maps.Copy(h, http.Header(header))
		w.WriteHeader(status)
		clear(h)
		maps.Copy(h, before)
		return nil
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: pass}), func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}
