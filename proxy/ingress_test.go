package proxy_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// reply is what a provider sends, piece by piece.
type reply struct {
	kind, path, request string
	chunks              []string
	whole               bool // of known length
}

// replies are the forms that providers answer in, each with its terminal event.
var replies = map[string]reply{
	"sse": {kind: "text/event-stream; charset=utf-8", path: "anthropic /v1/messages", request: `{"stream":true}`,
		chunks: []string{
			"event: message_start\ndata: {\"type\":\"message_start\"}\n\n", "event: ping\r\ndata: {\"type\":\"pi",
			"ng\"}\r\n\r\n\n",
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}},
	"json array": {kind: "application/json; charset=UTF-8", path: "gemini /v1beta/models/m:streamGenerateContent",
		request: `{"contents":[]}`, chunks: []string{
			`[{"candidates":[{"content":{}}]}` + "\n", ",\r\n{", `"candidates":[{"finishReason":"STOP"}]}`, "]"}},
	"ndjson": {kind: "application/x-ndjson", path: "openai /v1/files/f/content", request: `{"n":1}`,
		chunks: []string{"{\"a\":1}\n", "{\"b\"", ":2}\n"}},
	"json": {kind: "application/json", path: "openai /v1/responses", request: `{"model":"m"}`,
		chunks: []string{`{"status":"completed","id":"resp_1"}`}, whole: true},
}

func (r reply) text() string { return strings.Join(r.chunks, "") }

// urls are the addresses the request has by either ingress.
func (r reply) urls(p *proxy.Proxy) map[string]string {
	provider, path, _ := strings.Cut(r.path, " ")
	hosts := map[string]string{"anthropic": host, "openai": "api.openai.com",
		"gemini": "generativelanguage.googleapis.com"}
	return map[string]string{proxy.MITM: "https://" + hosts[provider] + path,
		proxy.BaseURL: p.URLFor(proxy.BaseURL, "") + "/" + provider + path}
}

// serve sends the chunks one at a time, the next when the last has arrived.
func (r reply) serve(seen <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", r.kind)
		if r.whole {
			w.Header().Set("Content-Length", fmt.Sprint(len(r.text())))
		}
		for _, chunk := range r.chunks {
			_, _ = io.WriteString(w, chunk)
			_ = http.NewResponseController(w).Flush()
			await(q.Context(), seen)
		}
	}
}

// fetch asks by one ingress and reads piece by piece.
func (r reply) fetch(ctx context.Context, t *testing.T, c *http.Client, url string, seen chan<- struct{}) {
	t.Helper()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(r.request))
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for i, want := range r.chunks {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("chunk %d: %q, %v; want %q", i, got, err, want)
		}
		if seen != nil {
			tell(ctx, seen)
		}
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %q, %v", rest, err)
	}
	// G1: a reply of known length stays one, and no other becomes one.
	if got, want := resp.ContentLength, int64(len(r.text())); r.whole && got != want || !r.whole && got != -1 {
		t.Errorf("Content-Length %d", got)
	}
	if got := resp.Header.Get("Content-Type"); got != r.kind {
		t.Errorf("Content-Type %q", got)
	}
}

// Every protocol towards either side, every form of reply, either ingress: what
// arrives is what was sent, at once, and replays by the other ingress (G1, G6, G14).
func TestIngressesAndProtocols(t *testing.T) {
	a := authority(t)
	for name, r := range replies {
		for _, upstreamH2 := range []bool{false, true} {
			for _, way := range []string{"mitm h1", "mitm h2", "base-url h1"} {
				ok := t.Run(fmt.Sprintf("%s, %s, upstream h2=%t", name, way, upstreamH2), func(t *testing.T) {
					recording := recordBy(t, a, r, way, upstreamH2)
					for _, other := range []string{"mitm h1", "mitm h2", "base-url h1"} {
						playBy(t, a, recording, r, other)
					}
				})
				if !ok {
					return // what is held back once is held back each time
				}
			}
		}
	}
}

// recordBy records r once and returns the cassette.
func recordBy(t *testing.T, a *ca.Authority, r reply, way string, upstreamH2 bool) *cassette.Cassette {
	t.Helper()
	seen := make(chan struct{})
	transport := reach(t, r.serve(seen), upstreamH2)
	path := filepath.Join(t.TempDir(), "x.yaml")
	writer, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic},
		cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.New(record.Config{Transport: transport, Writer: writer, Redactor: redact.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	fetchBy(t, a, rec, r, way, seen)
	if report := rec.Close(); report.Saved != 1 || len(report.Cut)+len(report.Lost) > 0 {
		t.Errorf("report %+v", report)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	recording, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := recording.At(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, path, _ := strings.Cut(r.path, " "); !strings.HasPrefix(in.Request.URL, "https://") ||
		!strings.HasSuffix(in.Request.URL, path) || string(in.Response.Body) != r.text() {
		t.Errorf("recorded %s %q", in.Request.URL, in.Response.Body)
	}
	// G14: what is kept is what the upstream spoke, not what the client did.
	if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[upstreamH2]; in.Response.Proto != want ||
		len(in.Timeline) != len(r.chunks) {
		t.Errorf("kept as %s in %d chunks, want %s in %d", in.Response.Proto, len(in.Timeline), want, len(r.chunks))
	}
	return recording
}

// reach is a transport to an upstream that answers with h for every provider.
func reach(t *testing.T, h http.Handler, h2 bool) http.RoundTripper {
	t.Helper()
	upstream := httptest.NewUnstartedServer(h)
	upstream.EnableHTTP2 = h2
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	transport, err := proxy.NewTransport(map[string]string{"anthropic": upstream.URL, "openai": upstream.URL,
		"gemini": upstream.URL}, roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	return transport
}

// fetchBy asks a proxy in front of h for r, the way that is named.
func fetchBy(t *testing.T, a *ca.Authority, h http.Handler, r reply, way string, seen chan<- struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	p := start(t, proxy.Config{CA: a, Ingress: []string{proxy.MITM, proxy.BaseURL}}, h.ServeHTTP)
	c, tr := client(t, p, a)
	ingress, protocol, _ := strings.Cut(way, " ")
	if tr.ForceAttemptHTTP2 = protocol == "h2"; ingress == proxy.BaseURL {
		tr.Proxy = nil
	}
	r.fetch(ctx, t, c, r.urls(p)[ingress], seen)
	tr.CloseIdleConnections()
	_ = p.Close(ctx)
}

func playBy(t *testing.T, a *ca.Authority, recording *cassette.Cassette, r reply, way string) {
	t.Helper()
	replayer, err := replay.New(replay.Config{Cassette: recording, Redactor: redact.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	fetchBy(t, a, replayer, r, way, nil)
	if got := replayer.Receipt(); got.Served != 1 || got.Missed+got.Unused > 0 {
		t.Errorf("%s: receipt %+v", way, got)
	}
}

// G18: the first chunk of a reply is not split, whatever its length is said to
// be: what the replayer writes is what one TLS record brings.
func TestFirstChunkIsWhole(t *testing.T) {
	first := bytes.Repeat([]byte("f"), 1000)
	_, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(first) })
	resp, err := c.Get("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got := make([]byte, 2000)
	if n, err := resp.Body.Read(got); n != len(first) {
		t.Errorf("the first read brings %d bytes of %d, %v", n, len(first), err)
	}
}

// G15: what one request on a connection carries in its context, the next does
// not find.
func TestRequestsShareNoState(t *testing.T) {
	type key struct{}
	_, c, _ := setup(t, func(w http.ResponseWriter, r *http.Request) {
		seen, _ := r.Context().Value(key{}).(string)
		*r = *r.WithContext(context.WithValue(r.Context(), key{}, "left behind"))
		r.URL.Host, r.Header["X-Left"] = "left.behind", []string{"x"}
		_, _ = io.WriteString(w, seen)
	})
	for range 3 {
		resp, err := c.Get("https://" + host + "/")
		if got := body(t, resp, err); got != "" {
			t.Errorf("found %q", got)
		}
	}
}

// A client that has all that was announced may leave: over HTTP/2 the end of the
// stream comes in a frame of its own, and may come later.
func TestLeavingAfterTheLastByte(t *testing.T) {
	const text = `{"id":"resp_1"}`
	transport := reach(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the end is sent only when the client no longer waits for it
	}), true)
	kept := make(chan cassette.Interaction, 1)
	rec, err := record.New(record.Config{Transport: transport, Redactor: redact.New(nil),
		Observe: func(in cassette.Interaction) { kept <- in }})
	if err != nil {
		t.Fatal(err)
	}
	r := reply{kind: "application/json", path: "openai /v1/responses", request: "{}", chunks: []string{text},
		whole: true}
	fetchBy(t, authority(t), rec, r, "mitm h1", nil)
	report := rec.Close()
	if in := <-kept; in.End != cassette.EndEOF || len(report.Cut) > 0 {
		t.Errorf("ended by %s, cut %v", in.End, report.Cut)
	}
}
