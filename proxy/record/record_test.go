package record_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

const endpoint = "https://api.anthropic.com/v1/messages"

// memory is a cassette writer that keeps everything at hand.
type memory struct {
	mu   sync.Mutex
	kept []cassette.Interaction
	err  error
}

func (m *memory) AppendAll(ins []cassette.Interaction) []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.kept = append(m.kept, ins...)
	}
	return slices.Repeat([]error{m.err}, len(ins))
}

// asIs is a redactor for requests that hold no secrets.
type asIs func(cassette.Interaction) cassette.Interaction

func (f asIs) Interaction(in cassette.Interaction) cassette.Interaction {
	if f == nil {
		return in
	}
	return f(in)
}

// rig is client ─ proxy ─ recorder ─ upstream, the upstream over TLS.
type rig struct {
	t         *testing.T
	client    *http.Client
	tr        *http.Transport
	recorder  *record.Recorder
	proxy     *proxy.Proxy
	recording *memory
	report    *record.Report
}

func newRig(t *testing.T, h2 bool, cfg record.Config, upstream http.HandlerFunc) *rig {
	t.Helper()
	server := httptest.NewUnstartedServer(upstream)
	server.EnableHTTP2 = h2
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return newRigTo(t, server.URL, roots, cfg)
}

func newRigTo(t *testing.T, upstream string, roots *x509.CertPool, cfg record.Config) *rig {
	t.Helper()
	return newRigAround(t, upstream, roots, cfg, func(h http.Handler) http.Handler { return h })
}

// newWrappedRig has wrap around the recorder.
func newWrappedRig(t *testing.T, cfg record.Config, upstream http.HandlerFunc,
	wrap func(http.Handler) http.Handler) *rig {
	t.Helper()
	server := httptest.NewTLSServer(upstream)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return newRigAround(t, server.URL, roots, cfg, wrap)
}

func newRigAround(t *testing.T, upstream string, roots *x509.CertPool, cfg record.Config,
	wrap func(http.Handler) http.Handler) *rig {
	t.Helper()
	g := &rig{t: t, recording: &memory{}}
	transport, err := proxy.NewTransport(map[string]string{"anthropic": upstream}, roots)
	check(t, err)
	t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	cfg.Transport = transport
	if cfg.Writer == nil {
		cfg.Writer = g.recording
	}
	if cfg.Redactor == nil {
		cfg.Redactor = asIs(nil)
	}
	g.recorder, err = record.New(cfg)
	check(t, err)
	hosts, err := proxy.Hosts(nil)
	check(t, err)
	authority, err := ca.New(hosts, time.Now())
	check(t, err)
	g.proxy, err = proxy.New(proxy.Config{CA: authority, Handler: wrap(g.recorder)})
	check(t, err)
	check(t, g.proxy.Start())
	through, err := url.Parse(g.proxy.URL())
	check(t, err)
	g.tr = &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: authority.Pool()},
		DisableCompression: true}
	g.client = &http.Client{Transport: g.tr}
	t.Cleanup(func() { g.close() })
	return g
}

// close ends the recording and returns its report.
func (g *rig) close() record.Report {
	if g.report == nil {
		g.tr.CloseIdleConnections()
		check(g.t, g.proxy.Close(context.Background()))
		report := g.recorder.Close()
		g.report = &report
	}
	return *g.report
}

// only closes the rig and returns the one interaction that was saved.
func (g *rig) only() cassette.Interaction {
	g.t.Helper()
	report := g.close()
	if len(g.recording.kept) != 1 || report.Saved != 1 {
		g.t.Fatalf("saved %d, reported %+v, want one", len(g.recording.kept), report)
	}
	return g.recording.kept[0]
}

func (g *rig) post() *http.Response {
	g.t.Helper()
	resp, err := g.client.Post(endpoint+"?beta=true", "application/json", strings.NewReader("{}"))
	check(g.t, err)
	return resp
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	check(t, err)
	return string(data)
}

func lengths(in cassette.Interaction) (n []int) {
	for _, c := range in.Timeline {
		n = append(n, c.Length)
	}
	return n
}

func TestRequestIsKeptAndForwardedWhole(t *testing.T) {
	var seen http.Header
	g := newRig(t, true, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		data, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"echo":"`+string(data)+`"}`)
	})
	req, _ := http.NewRequest(http.MethodPost, endpoint+"?beta=true", strings.NewReader("hello"))
	req.Header = http.Header{
		"Anthropic-Version": {"2023-06-01"}, "Proxy-Authorization": {"Basic secret"}, "Connection": {"X-Hop"},
		"X-Hop": {"1"},
		"Te":    {"trailers"}, "Accept-Encoding": {"gzip, br"},
	}
	resp, err := g.client.Do(req)
	check(t, err)
	if got := read(t, resp); got != `{"echo":"hello"}` {
		t.Errorf("client got %q", got)
	}
	in := g.only()
	if in.Request.Method != http.MethodPost || in.Request.URL != endpoint+"?beta=true" ||
		string(in.Request.Body) != "hello" || in.Request.Proto != "HTTP/1.1" {
		t.Errorf("kept request %+v", in.Request)
	}
	for name, want := range map[string][2]string{ // forwarded, kept
		"Anthropic-Version":   {"2023-06-01", "2023-06-01"},
		"Accept-Encoding":     {"identity", "gzip, br"}, // G12
		"Proxy-Authorization": {"", ""},                 // G19
		"X-Hop":               {"", ""},
		"Te":                  {"", ""},
		"User-Agent":          {"Go-http-client/1.1", "Go-http-client/1.1"}, // the client's, not ours
	} {
		if got := [2]string{seen.Get(name), in.Request.Header.Get(name)}; got != want {
			t.Errorf("%s: forwarded and kept %q, want %q", name, got, want)
		}
	}
}

// Bytes, boundaries and times of a stream; the upstream sends a chunk only when
// the client has the one before.
func TestStreamIsKeptAsItArrives(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		sent := []string{"event: a\n", "\n", strings.Repeat("x", 1000), "data: é"[:7], "data: é"[7:]}
		next := make(chan struct{}, 1)
		g := newRig(t, h2, record.Config{Clock: ticking()}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, chunk := range sent {
				_, _ = io.WriteString(w, chunk)
				w.(http.Flusher).Flush()
				<-next
			}
		})
		resp := g.post()
		var got []byte
		for _, chunk := range sent {
			buf := make([]byte, len(chunk))
			_, err := io.ReadFull(resp.Body, buf)
			check(t, err)
			got = append(got, buf...)
			next <- struct{}{}
		}
		_, err := io.ReadAll(resp.Body)
		check(t, err)
		_ = resp.Body.Close()

		in := g.only()
		if want := strings.Join(sent, ""); string(in.Response.Body) != want || string(got) != want {
			t.Errorf("h2=%t: kept %q, client got %q", h2, in.Response.Body, got)
		}
		if n := lengths(in); len(n) != len(sent) {
			t.Errorf("h2=%t: chunks %v, want one for each of %d writes", h2, n, len(sent))
		}
		// Each reading of the clock is a millisecond: sent, answered, one a chunk.
		for i, c := range in.Timeline {
			if want := time.Duration(i+1) * time.Millisecond; c.At != want {
				t.Errorf("h2=%t: chunk %d at %v, want %v", h2, i, c.At, want)
			}
		}
		if want := time.Duration(len(sent)+2) * time.Millisecond; in.Duration != want {
			t.Errorf("h2=%t: duration %v, want %v", h2, in.Duration, want)
		}
		if proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]; in.Response.Proto != proto { // G14
			t.Errorf("kept protocol %s, want %s", in.Response.Proto, proto)
		}
	}
}

// Nominal times are those of each exchange by itself, whatever else happens and
// however long it takes.
func TestNominalTimes(t *testing.T) {
	second := make(chan struct{})
	cfg := record.Config{Nominal: 10 * time.Millisecond,
		Clock: func() time.Time { t.Error("the clock was asked"); return time.Time{} }}
	g := newRig(t, false, cfg, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "hold" {
			w.(http.Flusher).Flush()
			<-second
		}
		_, _ = io.WriteString(w, "x")
	})
	held, err := g.client.Post(endpoint, "", strings.NewReader("hold"))
	check(t, err)
	other, err := g.client.Post(endpoint, "", strings.NewReader("pass"))
	check(t, err)
	if read(t, other) != "x" {
		t.Error("the other one waits")
	}
	close(second)
	read(t, held)
	g.close()
	for i, in := range g.recording.kept {
		if len(in.Timeline) != 1 || in.Timeline[0].At != 10*time.Millisecond {
			t.Errorf("%d: timeline %v, want its chunk after 10ms", i, in.Timeline)
		}
		if d := in.Duration; d != 20*time.Millisecond &&
			d != 30*time.Millisecond { // its end may come with the last bytes
			t.Errorf("%d: took %v", i, d)
		}
	}
}

// ticking is a clock that advances a millisecond at each look.
func ticking() func() time.Time {
	var mu sync.Mutex
	now := time.Unix(0, 0)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Millisecond)
		return now
	}
}

// G1: a reply of known length stays one.
func TestContentLengthIsKept(t *testing.T) {
	g := newRig(t, false, record.Config{},
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	resp := g.post()
	if resp.ContentLength != 2 || resp.TransferEncoding != nil {
		t.Errorf("length %d, encoding %v", resp.ContentLength, resp.TransferEncoding)
	}
	read(t, resp)
	if got := g.only().Response.Header.Get("Content-Length"); got != "2" {
		t.Errorf("kept length %q", got)
	}
}

// A reply of unknown length stays one, also where its only bytes come with its end.
func TestUnknownLengthIsKept(t *testing.T) {
	g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "{}")
	})
	resp := g.post()
	if resp.ContentLength != -1 || !slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
		t.Errorf("length %d, encoding %v", resp.ContentLength, resp.TransferEncoding)
	}
	if got := read(t, resp); got != "{}" {
		t.Errorf("got %q", got)
	}
}

// G13: what would lead the client around the proxy is kept, not passed on.
func TestAltSvcIsKeptNotPassedOn(t *testing.T) {
	g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"`)
	})
	resp := g.post()
	read(t, resp)
	if got := resp.Header.Get("Alt-Svc"); got != "" {
		t.Errorf("client got %q", got)
	}
	if got := g.only().Response.Header.Get("Alt-Svc"); got != `h3=":443"` {
		t.Errorf("kept %q", got)
	}
}

func TestTrailers(t *testing.T) {
	for _, announced := range []bool{true, false} {
		for _, h2 := range []bool{false, true} {
			g := newRig(t, h2, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
				name := http.TrailerPrefix + "X-Sum"
				if announced {
					w.Header().Set("Trailer", "X-Sum")
					name = "X-Sum"
				}
				_, _ = io.WriteString(w, "body")
				w.(http.Flusher).Flush()
				w.Header().Set(name, "42")
			})
			resp := g.post()
			read(t, resp)
			if got := resp.Trailer.Get("X-Sum"); got != "42" {
				t.Errorf("announced=%t h2=%t: client got %q", announced, h2, got)
			}
			if got := g.only().Response.Trailer.Get("X-Sum"); got != "42" {
				t.Errorf("announced=%t h2=%t: kept %q", announced, h2, got)
			}
		}
	}
}

// A cut stream is kept as cut, and is cut for the client, too.
func TestEndings(t *testing.T) {
	cut := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	short := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		h2       bool
		upstream http.HandlerFunc
		want     cassette.End
	}{
		"HTTP/1.1 chunked":     {false, cut, cassette.EndReset},
		"HTTP/1.1 with length": {false, short, cassette.EndReset},
		"HTTP/2":               {true, cut, "h2:INTERNAL_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, c.h2, record.Config{}, c.upstream)
			resp := g.post()
			data, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(data) != "data: 1\n\n" || err == nil {
				t.Errorf("client read %q, error %v", data, err)
			}
			in := g.only()
			if in.End != c.want || string(in.Response.Body) != "data: 1\n\n" {
				t.Errorf("kept %q, ended %s, want %s", in.Response.Body, in.End, c.want)
			}
			if len(g.report.Cut) != 1 {
				t.Errorf("report %+v does not tell of the cut", *g.report)
			}
		})
	}
}

// G2: a client that leaves ends the upstream's work, and that is how it is kept.
func TestClientAbort(t *testing.T) {
	left := make(chan struct{})
	g := newRig(t, true, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader("{}"))
	resp, err := g.client.Do(req)
	check(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 9))
	check(t, err)
	cancel()
	<-left
	_ = resp.Body.Close()
	if in := g.only(); in.End != cassette.EndClientAbort || string(in.Response.Body) != "data: 1\n\n" {
		t.Errorf("kept %q, ended %s", in.Response.Body, in.End)
	}
}

// A reply that ends cleanly without the provider's last event is not a success.
func TestMissingTerminalEventIsReported(t *testing.T) {
	for body, cuts := range map[string]int{
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n": 0,
		"event: ping\ndata: {\"type\":\"ping\"}\n\n":                 1,
	} {
		g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, body)
		})
		read(t, g.post())
		if in := g.only(); in.End != cassette.EndEOF || len(g.report.Cut) != cuts {
			t.Errorf("%q: ended %s, report %+v", body, in.End, *g.report)
		}
	}
}

// G3: without an upstream the client gets an answer it can read.
func TestUnreachableUpstream(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	g := newRigTo(t, server.URL, nil, record.Config{Provenance: cassette.ProvenanceLive})
	resp := g.post()
	text := read(t, resp)
	if resp.StatusCode != http.StatusBadGateway || resp.Header.Get("X-Recorder-Error") == "" ||
		!strings.Contains(text, `"type":"error"`) {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, text)
	}
	g.close()
	if got := *g.report; got.Saved != 0 || got.Answered != 0 || got.Withheld != 1 || len(got.Cut) != 1 {
		t.Errorf("a request without a reply is reported as %+v", got)
	}
	if got := strings.Join(g.report.Cut, ""); !strings.Contains(got, "connection refused") {
		t.Errorf("the cause is not named: %s", got)
	}
}

// A request without any reply is kept where that is meant, and no provider's word
// even in a live cassette.
func TestUnansweredRequestIsKeptWhereMeant(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	g := newRigTo(t, server.URL, nil, record.Config{Provenance: cassette.ProvenanceLive, AllowIncomplete: true})
	read(t, g.post())
	in := g.only()
	if in.Response.Status != 0 || in.End != cassette.EndReset || in.Provenance != cassette.ProvenanceSynthetic ||
		g.report.Declared != 1 {
		t.Errorf("kept %+v, report %+v", in, *g.report)
	}
}

// Every LLM request is a POST whose answer may come before its body was read.
func TestQuicklyAnsweredPosts(t *testing.T) {
	g := newRig(t, false, record.Config{},
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	body := strings.Repeat("x", 2000)
	for i := range 500 {
		resp, err := g.client.Post(endpoint, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		read(t, resp)
	}
	if report := g.close(); report.Saved != 500 {
		t.Errorf("saved %d of 500", report.Saved)
	}
}

func TestManyStreamsAtOnce(t *testing.T) {
	const streams = 50
	g := newRig(t, true, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		for range 20 {
			_, _ = w.Write(data)
			w.(http.Flusher).Flush()
		}
	})
	g.tr.ForceAttemptHTTP2 = true
	var wg sync.WaitGroup
	for i := range streams {
		body := strings.Repeat(string(rune('a'+i%26)), 100+i)
		wg.Go(func() {
			resp, err := g.client.Post(endpoint, "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != strings.Repeat(body, 20) {
				t.Errorf("got %d bytes, error %v", len(got), err)
			}
		})
	}
	wg.Wait()
	g.close()
	for _, in := range g.recording.kept {
		if !bytes.Equal(in.Response.Body, bytes.Repeat(in.Request.Body, 20)) {
			t.Error("a reply was kept with another's request")
		}
	}
	if len(g.recording.kept) != streams {
		t.Errorf("kept %d of %d", len(g.recording.kept), streams)
	}
}

var errDisk = errors.New("no space left on device")
