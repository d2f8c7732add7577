package replay

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// TestHandshakesAtOnce: of many handshakes at once, as many are refused as the provider
// refused. The others become WebSockets, and none is told that its answer is missing.
func TestHandshakesAtOnce(t *testing.T) {
	const refusals, clients = 128, 256
	refusal := cassette.Interaction{End: cassette.EndEOF,
		Request: cassette.Request{Method: http.MethodGet, URL: "https://api.openai.com/v1/responses",
			Proto: "HTTP/1.1", Header: http.Header{}},
		Response: cassette.Response{Status: http.StatusUnauthorized, Proto: "HTTP/1.1", Header: http.Header{}}}
	p := newReplayer(t, Config{}, slices.Repeat([]cassette.Interaction{refusal}, refusals)...)
	var statuses [clients]int
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range clients {
		all.Go(func() {
			<-start
			r := httptest.NewRequest(http.MethodGet, refusal.Request.URL, nil)
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
			r.Header.Set("Sec-WebSocket-Version", "13")
			r.Header.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			statuses[i] = w.Code
		})
	}
	close(start)
	all.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	// 501: a WebSocket would begin here, but there is no connection that could be taken over.
	if count[http.StatusUnauthorized] != refusals || count[http.StatusNotImplemented] != clients-refusals {
		t.Errorf("by status: %v", count)
	}
	if got := p.Receipt(); got.Served != refusals || got.Missed+got.Unused > 0 {
		t.Errorf("%+v", got)
	}
}
