package replay_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

const (
	socketURL    = "https://api.openai.com/v1/responses"
	socketKey    = "Bearer key-that-nobody-may-read-0123456789"
	createdEvent = `{"type":"response.created"}`
	endEvent     = `{"type":"response.completed","response":{"id":"resp_1"}}`
	errorEvent   = `{"type":"error","status":400,"error":{"code":"previous_response_not_found"}}`
)

// socketProvider speaks OpenAI's side; what it does is in the messages.
func socketProvider(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != socketKey {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":"invalid_api_key"}}`)
		return
	}
	w.Header().Set("Openai-Processing-Ms", "12")
	conn, err := coder.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		_, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		say := func(events ...string) {
			for _, e := range events {
				_ = conn.Write(r.Context(), coder.MessageText, []byte(e))
			}
		}
		switch what := string(message); {
		case strings.Contains(what, "steer"): // has no reply
		case strings.Contains(what, "refuse"):
			say(errorEvent)
		case strings.Contains(what, "break"):
			say(createdEvent)
			return
		case strings.Contains(what, "close"):
			say(createdEvent)
			_ = conn.Close(4001, "enough")
			return
		default:
			say(createdEvent, "{\"type\": \"response.output_text.delta\",\n \"delta\": \"caf\u00e9\"}", endEvent)
		}
	}
}

// socketOptions is a proxy that lets WebSockets through to h, and a client's way in.
func socketOptions(t *testing.T, h http.Handler) *coder.DialOptions {
	t.Helper()
	hosts, err := proxy.Hosts(nil)
	ok(t, err)
	authority, err := ca.New(hosts, time.Now())
	ok(t, err)
	p, err := proxy.New(proxy.Config{CA: authority, Handler: h, WebSocket: func(*http.Request) bool { return true }})
	ok(t, err)
	ok(t, p.Start())
	through, _ := url.Parse(p.URL())
	tr := &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		ok(t, p.Close(context.Background()))
	})
	return &coder.DialOptions{HTTPClient: &http.Client{Transport: tr},
		HTTPHeader: http.Header{"Authorization": {socketKey}}, CompressionMode: coder.CompressionContextTakeover}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// talkTo sends each message on a connection of its own, or all on one, and returns what
// came back, up to the end of each reply or connection. Of a refused handshake it returns
// the status and the length: WebSocket clients do not read chunks.
func talkTo(t *testing.T, options *coder.DialOptions, messages ...string) (heard []string) {
	t.Helper()
	conn, resp, err := coder.Dial(t.Context(), socketURL, options)
	if err != nil {
		return []string{fmt.Sprint(resp.StatusCode, ", length known: ", resp.ContentLength > 0)}
	}
	defer func() { _ = conn.CloseNow() }()
	heard = append(heard, resp.Header.Get("Openai-Processing-Ms"))
	for _, m := range messages {
		ok(t, conn.Write(t.Context(), coder.MessageText, []byte(m)))
		for isOver := strings.Contains(m, "steer"); !isOver; {
			_, event, err := conn.Read(t.Context())
			if err != nil {
				return append(heard, fmt.Sprintf("closed with %d", coder.CloseStatus(err)))
			}
			heard = append(heard, string(event))
			isOver = strings.Contains(string(event), "completed") || strings.Contains(string(event), `"error"`)
		}
	}
	return heard
}

// recordSockets records what clients say to the provider.
func recordSockets(t *testing.T, path string, clients func(options *coder.DialOptions)) record.Report {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(socketProvider))
	server.EnableHTTP2 = true // which must not be spoken here
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport, err := proxy.NewTransport(map[string]string{"openai": server.URL}, roots)
	ok(t, err)
	defer transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	ok(t, err)
	rec, err := record.New(record.Config{Transport: transport, Writer: w, Redactor: redact.New(nil),
		AllowIncomplete: true,
		Note: func(r *http.Request, in *cassette.Interaction) {
			if websocket.SessionOf(r.Context()) != nil {
				in.WebSocket = 1
			}
		}})
	ok(t, err)
	t.Run("recording", func(t *testing.T) { clients(socketOptions(t, rec)) })
	report := rec.Close()
	ok(t, w.Close())
	return report
}

// talkThrice has three connections to a provider, and returns what each heard.
func talkThrice(t *testing.T, options *coder.DialOptions) [][]string {
	t.Helper()
	return [][]string{
		talkTo(t, options, `{"type":"response.create","input":"one"}`, `{"type":"response.create","input":"refuse"}`,
			`{"type":"response.steer"}`, `{"type":"response.create","input":"two"}`),
		talkTo(t, options, `{"type":"response.create","input":"break"}`),
		talkTo(t, options, `{"type":"response.create","input":"close"}`),
	}
}

func talkWithWrongKey(t *testing.T, options *coder.DialOptions) []string {
	t.Helper()
	other := *options
	other.HTTPHeader = http.Header{"Authorization": {"Bearer wrong"}}
	return talkTo(t, &other)
}

// openRecordedSockets holds what is recorded of talkThrice and talkWithWrongKey.
func openRecordedSockets(t *testing.T, path string) *cassette.Cassette {
	t.Helper()
	data, err := os.ReadFile(path)
	ok(t, err)
	if strings.Contains(string(data), "nobody-may-read") || strings.Contains(string(data), "Sec-Websocket") {
		t.Error("the cassette holds the key or the handshake's own headers")
	}
	c, err := cassette.Open(path)
	ok(t, err)
	ok(t, c.Verify())
	statuses := []string{}
	for in, err := range c.All() {
		ok(t, err)
		statuses = append(statuses, fmt.Sprint(in.Request.Method, " ", in.Response.Status, " ", in.Incomplete, " ",
			in.WebSocket, " ", len(in.Timeline)))
	}
	slices.Sort(statuses)
	if want := "[GET 401  1 1 POST 200  1 3 POST 200  1 3 POST 200 cut 1 1 POST 200 no terminal event 1 1 POST 400  1 1]"; fmt.Sprint(statuses) != want {
		t.Errorf("recorded %q\nwant %q", statuses, want)
	}
	return c
}

// TestWebSocketRoundTrip holds that clients of a replay see what clients of the provider
// saw: messages, errors, broken and closed connections and refused handshakes.
func TestWebSocketRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	var live [][]string
	report := recordSockets(t, path, func(options *coder.DialOptions) {
		live = append(talkThrice(t, options), talkWithWrongKey(t, options))
	})
	delta := "{\"type\": \"response.output_text.delta\",\n \"delta\": \"caf\u00e9\"}"
	want := [][]string{
		{"12", createdEvent, delta, endEvent, errorEvent, createdEvent, delta, endEvent},
		{"12", createdEvent, "closed with -1"}, {"12", createdEvent, "closed with 4001"}, {"401, length known: true"},
	}
	if fmt.Sprint(live) != fmt.Sprint(want) {
		t.Fatalf("live:\n got %q\nwant %q", live, want)
	}
	if report.Saved != 6 || report.Declared != 2 || len(report.Lost)+len(report.Refused) > 0 {
		t.Errorf("%+v", report)
	}
	c := openRecordedSockets(t, path)

	for _, timing := range []replay.Timing{replay.None, replay.Recorded} {
		r, err := replay.New(replay.Config{Cassette: c, Redactor: redact.New(nil), Timing: timing})
		ok(t, err)
		if !r.HasWebSockets() {
			t.Error("the cassette has WebSockets")
		}
		t.Run("replay", func(t *testing.T) {
			options := socketOptions(t, r)
			refused := talkWithWrongKey(t, options) // a refusal that is left answers first
			got := append(talkThrice(t, options), refused)
			want := slices.Clone(want)
			want[2] = []string{"12", createdEvent, "closed with 1011"} // codes are not recorded
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("replayed:\n got %q\nwant %q", got, want)
			}
		})
		if got := r.Receipt(); got.Served != 6 || got.Missed+got.Unused > 0 || !got.Strict {
			t.Errorf("%+v", got)
		}
	}

	r, err := replay.New(replay.Config{Cassette: c, Redactor: redact.New(nil)})
	ok(t, err)
	t.Run("miss", func(t *testing.T) {
		options := socketOptions(t, r)
		talkWithWrongKey(t, options)
		got := talkTo(t, options, `{"type":"response.create","input":"another"}`,
			`{"type":"response.create","input":"one"}`)
		if len(got) != 5 || !strings.Contains(got[1], `"x-cassette-miss":"unknown"`) || got[4] != endEvent {
			t.Errorf("%q", got)
		}
	})
}

// TestWebSocketUnreachable holds that a provider that does not answer is reported, to the
// client as to the report.
func TestWebSocketUnreachable(t *testing.T) {
	transport, err := proxy.NewTransport(map[string]string{"openai": "http://127.0.0.1:1"}, nil)
	ok(t, err)
	w, err := cassette.Create(filepath.Join(t.TempDir(), "c.yaml"),
		cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	ok(t, err)
	rec, err := record.New(record.Config{Transport: transport, Writer: w, Redactor: redact.New(nil)})
	ok(t, err)
	t.Run("client", func(t *testing.T) {
		if got := talkTo(t, socketOptions(t, rec)); fmt.Sprint(got) != "[502, length known: true]" {
			t.Errorf("%q", got)
		}
	})
	if report := rec.Close(); len(report.Cut) != 1 || !strings.Contains(report.Cut[0], "connection refused") {
		t.Errorf("%+v", report)
	}
	ok(t, w.Discard())
}

// TestWebSocketRecordsWhatIsMissing holds that the provider is asked for what the cassette
// lacks only, and that its refusal of the handshake then is the reply.
func TestWebSocketRecordsWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	known, missing := `{"type":"response.create","input":"one"}`, `{"type":"response.create","input":"two"}`
	recordSockets(t, path, func(options *coder.DialOptions) { talkTo(t, options, known) })
	c, err := cassette.Open(path)
	ok(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(socketProvider))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport, err := proxy.NewTransport(map[string]string{"openai": server.URL}, roots)
	ok(t, err)
	defer transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	w, err := cassette.Extend(path, c.Meta())
	ok(t, err)
	rec, err := record.New(record.Config{Transport: transport, Writer: w, Redactor: redact.New(nil)})
	ok(t, err)
	r, err := replay.New(replay.Config{Cassette: c, Redactor: redact.New(nil), Fallback: rec, Repeat: true})
	ok(t, err)
	t.Run("clients", func(t *testing.T) {
		options := socketOptions(t, r)
		if got := talkTo(t, options, known, missing, known); len(got) != 10 || got[9] != endEvent {
			t.Errorf("%q", got)
		}
		options.HTTPHeader = http.Header{"Authorization": {"Bearer wrong"}}
		got := talkTo(t, options, known, missing)
		if len(got) != 5 || !strings.Contains(got[4], `"status":401`) || !strings.Contains(got[4], "invalid_api_key") {
			t.Errorf("%q", got)
		}
	})
	if report := rec.Close(); report.Saved != 2 || len(report.Cut)+len(report.Lost) > 0 {
		t.Errorf("%+v", report)
	}
	ok(t, w.Close())
}
