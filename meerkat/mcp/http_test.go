package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// web starts a server of handlers that can be changed.
func web(t *testing.T, first http.Handler) (url string, become func(http.Handler)) {
	t.Helper()
	var now atomic.Pointer[http.Handler]
	now.Store(&first)
	s := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) },
	))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL, func(h http.Handler) { now.Store(&h) }
}

func streamable(t *testing.T) http.Handler {
	t.Helper()
	s := sdkServer()
	t.Cleanup(func() { // a server of the SDK keeps sessions that nobody ended
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

// overHTTP opens a router on connections of its own, which end with the test.
func overHTTP(t *testing.T, url string, o mcp.Options, change func(*mcp.Server)) (*mcp.Router, error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.HTTPClient = &http.Client{Transport: transport}
	s := mcp.Server{Name: "s", URL: url}
	if change != nil {
		change(&s)
	}
	r, err := mcp.Open(t.Context(), []mcp.Server{s}, o)
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// TestAccessExpires: a call that is not let in has not run, and a later one may be.
func TestAccessExpires(t *testing.T) {
	handler := streamable(t)
	url, become := web(t, handler)
	r, err := overHTTP(t, url, quick, nil)
	if err != nil {
		t.Fatal(err)
	}
	become(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	const want = "the server s refuses access (HTTP 403); check its headers; the tool did not run"
	wantText(t, call(r, "s__add", `{"a":2,"b":40}`), true, want)
	become(handler)
	wantText(t, call(r, "s__add", `{"a":2,"b":40}`), false, `{"total":42}`)
}

// TestHTTPHangs: neither the handshake nor Close waits for ever.
func TestHTTPHangs(t *testing.T) {
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the end of the request is seen
		<-r.Context().Done()
	})
	url, _ := web(t, hang)
	begin := time.Now()
	_, err := overHTTP(t, url, quick, func(s *mcp.Server) { s.StartTimeout = 200 * time.Millisecond })
	if err == nil || !strings.Contains(err.Error(), "did not answer the handshake within ") {
		t.Error(err)
	}
	url, become := web(t, streamable(t))
	r, err := overHTTP(t, url, quick, nil)
	if err != nil {
		t.Fatal(err)
	}
	become(hang)
	r.Close()
	if took := time.Since(begin); took > 40*time.Second {
		t.Error("took", took)
	}
}

// TestHTTPForgets: a server that was restarted has not run the call, and the
// next one begins a new session.
func TestHTTPForgets(t *testing.T) {
	url, become := web(t, olderHTTP(t))
	r, err := overHTTP(t, url, quick, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, call(r, "s__add", `{"a":1,"b":1}`), false, "2")
	become(olderHTTP(t))
	wantText(
		t, call(r, "s__add", `{"a":1,"b":1}`), true,
		"the server s has forgotten the session; the tool did not run: call it again",
	)
	wantText(t, call(r, "s__add", `{"a":1,"b":1}`), false, "2")
	become(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	wantText(t, call(r, "s__add", `{"a":1,"b":1}`), true, "the tool may have run")
	become(olderHTTP(t))
	until(t, func() bool { return !call(r, "s__add", `{"a":1,"b":1}`).IsError })
}

// olderHTTP is a server that speaks a protocol with sessions.
func olderHTTP(t *testing.T) http.Handler {
	t.Helper()
	h := streamable(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct{ Method string }
		_ = json.Unmarshal(body, &m)
		if m.Method == "server/discover" {
			http.Error(w, "not found", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.ServeHTTP(w, r)
	})
}

// TestHTTPFloods: a message that is too large is one error result, as JSON and
// as an event.
func TestHTTPFloods(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		s := sdk.NewServer(&sdk.Implementation{Name: "flood"}, nil)
		s.AddTool(&sdk.Tool{Name: "big", InputSchema: json.RawMessage(`{"type":"object"}`)}, big)
		url, _ := web(t, sdk.NewStreamableHTTPHandler(
			func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: asJSON},
		))
		o := quick
		o.MaxMessage = 100_000
		r, err := overHTTP(t, url, o, func(s *mcp.Server) { s.Timeout = time.Second })
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		wantText(t, call(r, "s__big", `{}`), true, "the answer of the server s cannot be read", "the tool may have run")
		if took := time.Since(begin); took > 40*time.Second {
			t.Error("took", took)
		}
	}
}
