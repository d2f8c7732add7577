package record

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
)

// forwardInterim returns a context with which interim responses (RFC 9110 §15.2), such as 103
// Early Hints, are passed on until done is called. A 100 is not: it concerns the request body,
// which the client sends already. HTTP/1.0 has no interim responses. They are not kept, because
// they do not change the reply that follows.
func forwardInterim(ctx context.Context, w http.ResponseWriter, r *http.Request) (traced context.Context, done func()) {
	if !r.ProtoAtLeast(1, 1) {
		return ctx, func() {}
	}
	var mu sync.Mutex // a transport may receive one after RoundTrip has returned
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
