package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/gateway"
	"github.com/meerkat-go/conformance/internal/standin"
	"github.com/meerkat-go/conformance/wires"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// judged plays cases through a gateway that is a handler in this process.
func judged(t *testing.T, wire string, only func(string) bool, timeout time.Duration,
	make func(upstream *url.URL) http.Handler) *gateway.Outcome {
	t.Helper()
	up, err := gateway.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	w := wires.Find(wire)
	base, _ := url.Parse(up.URL + "/" + wire)
	front := httptest.NewServer(standin.ReadFirst(make(base)))
	defer front.Close()
	out, err := gateway.Judge(context.Background(), gateway.Config{
		Wire: w, UpstreamWire: w, Upstream: up, Base: front.URL, ClientKey: "test-client-key",
		UpstreamKey: "test-upstream-key", Only: only, Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// faithful passes everything on, with the key of the upstream.
func faithful(upstream *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		w := wires.Find(upstream.Path[1:])
		r.Out.Header.Set(w.Credentials.Header, w.Credentials.Prefix+"test-upstream-key")
	}}
}

func TestFaithfulGateway(t *testing.T) {
	for _, wire := range []string{"anthropic", "openai", "gemini", "chat"} {
		out := judged(t, wire, nil, 0, func(u *url.URL) http.Handler { return faithful(u) })
		if len(out.Cases) < 30 {
			t.Errorf("%s: only %d cases", wire, len(out.Cases))
		}
		counts := decide.Counts{}
		for _, c := range out.Cases {
			for _, r := range c.Results() {
				counts[r.Verdict]++
				for _, f := range r.Findings {
					t.Errorf("%s %s exchange %d %s: %s %+v", r.Case, r.Check, f.Exchange, f.Path, f.Message, f.Compare)
				}
			}
		}
		t.Logf("%s: %d cases, %s", wire, len(out.Cases), counts)
	}
}
