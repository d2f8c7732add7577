package providertest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// canaryKey is the key of every client in these tests. No error and no printed value
// may hold it.
const canaryKey = "sk-canary-0123456789+/secret"

// newClient returns a client that calls handler.
func (s codecSuite) newClient(t *testing.T, handler http.HandlerFunc) *provider.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // only then does the server notice a client that leaves
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return s.clientOf(t, provider.Config{BaseURL: server.URL, HTTPClient: server.Client(), Header: s.ConfigHeader})
}

// clientOf returns a client with the key canaryKey.
func (s codecSuite) clientOf(t *testing.T, cfg provider.Config) *provider.Client {
	t.Helper()
	cfg.APIKey = canaryKey
	c, err := provider.New(s.Codec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newRequest returns a request that every provider takes.
func (s codecSuite) newRequest() *provider.Request {
	return &provider.Request{
		Model: s.Model, System: "Be brief.", Messages: []transcript.Message{transcript.User("say hello")},
		Account: "acct",
	}
}

// mustFail calls c, which must fail with a clean *provider.Error.
func mustFail(t *testing.T, c *provider.Client, req *provider.Request) *provider.Error {
	t.Helper()
	return mustFailIn(t.Context(), t, c, req)
}

func mustFailIn(ctx context.Context, t *testing.T, c *provider.Client, req *provider.Request) *provider.Error {
	t.Helper()
	_, err := c.Complete(ctx, req, nil)
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want *provider.Error", err, err)
	}
	if e.Provider != c.Provider() {
		t.Errorf("provider %q, want %q", e.Provider, c.Provider())
	}
	for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e), fmt.Sprintf("%+v", e.Err)} {
		if strings.Contains(text, "canary") {
			t.Errorf("the key is in %s", text)
		}
		if strings.Contains(e.Error(), "\n") {
			t.Errorf("more than one line: %s", text)
		}
	}
	return e
}

// testStream: the reply is read while it arrives. The server sends the second
// half only after the client has reported the first.
func (s codecSuite) testStream(t *testing.T) {
	t.Helper()
	reported := make(chan struct{})
	var body []byte
	var got http.Request
	c := s.newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = *r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, s.Head)
		w.(http.Flusher).Flush()
		select {
		case <-reported:
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, s.Tail)
	})
	req := s.newRequest()
	reply, err := c.Complete(t.Context(), req, func(e stream.Event) {
		if e.Kind == stream.EventTextDelta && string(e.Delta) == "hel" {
			close(reported)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Message.String() != "hello" || reply.Message.StopReason != transcript.StopEndTurn {
		t.Errorf("reply %q, %s", reply.Message.String(), reply.Message.StopReason)
	}
	if o := reply.Message.Blocks[0].Origin; o == nil || o.Provider != s.providerName() || o.Model != s.Model ||
		o.Account != "acct" || o.API == "" {
		t.Errorf("origin %+v", o)
	}
	if got.Method != http.MethodPost || got.URL.Path != s.Path || got.URL.RawQuery != s.Query {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	for k, want := range s.Header {
		if v := got.Header.Get(k); v != want {
			t.Errorf("%s: %q, want %q", k, v, want)
		}
	}
	rendered, err := c.Render(req)
	if err != nil || !bytes.Equal(rendered, body) {
		t.Errorf("sent %s\nrendered %s, %v", body, rendered, err)
	}
}

func (s codecSuite) testUnary(t *testing.T) {
	t.Helper()
	c := s.newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != s.UnaryPath || r.URL.RawQuery != "" || r.Header.Get("Accept") != "application/json" {
			t.Errorf("%s, accept %s", r.URL, r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_, _ = io.WriteString(w, s.Unary)
	})
	req := s.newRequest()
	req.Unary = true
	reply, err := c.Complete(t.Context(), req, nil)
	if err != nil || reply.Message.String() != "hello" || reply.Usage.OutputTokens != 2 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// A base URL may name the version or not, below a prefix or not.
func (s codecSuite) testBaseURL(t *testing.T) {
	t.Helper()
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.Unary)
	}))
	defer server.Close()
	version := s.UnaryPath[:strings.Index(s.UnaryPath[1:], "/")+1]
	for base, want := range map[string]string{
		"": s.UnaryPath, "/": s.UnaryPath, version: s.UnaryPath, version + "/": s.UnaryPath,
		"/gw/llm": "/gw/llm" + s.UnaryPath, "/gw/llm" + version: "/gw/llm" + s.UnaryPath,
		"/v9alpha": strings.Replace(s.UnaryPath, version, "/v9alpha", 1),
	} {
		c := s.clientOf(t, provider.Config{BaseURL: server.URL + base})
		req := s.newRequest()
		req.Unary = true
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		if path != want {
			t.Errorf("base %q: path %s, want %s", base, path, want)
		}
	}
	for _, bad := range []string{
		"api.example.com", "ftp://x", "http://u:p@x", "http://x?key=1", "http://x#f", "http://", "http://[::1", ":",
	} {
		if _, err := provider.New(s.Codec, provider.Config{BaseURL: bad}); err == nil ||
			!strings.HasPrefix(err.Error(), s.providerName()+": base URL: it ") ||
			strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func (s codecSuite) testNothingIsSent(t *testing.T) {
	t.Helper()
	c := s.newClient(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	req := s.newRequest()
	req.Model = "claude-3-opus-20240229"
	e := mustFail(t, c, req)
	var unsupported *catalog.UnsupportedModel
	if e.Kind != provider.ModelNotFound || !errors.As(e, &unsupported) || e.Retryable() {
		t.Errorf("rejected model: %v", e)
	}
	req.Model = s.foreignModel()
	if e := mustFail(t, c, req); e.Kind != provider.ModelNotFound || !strings.Contains(e.Error(), "it is a model of") {
		t.Errorf("another provider's model: %v", e)
	}
	req = s.newRequest()
	req.Effort = "enormous"
	if e := mustFail(t, c, req); e.Kind != provider.InvalidRequest || !strings.Contains(
		e.Error(), `effort: "enormous"`,
	) {
		t.Errorf("effort: %v", e)
	}
	keyless, err := provider.New(s.Codec, provider.Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ToUpper(s.providerName()) + "_API_KEY"
	if e := mustFail(t, keyless, s.newRequest()); e.Kind != provider.Authentication ||
		!strings.Contains(e.Error(), want) {
		t.Errorf("no key: %v", e)
	}
}

// foreignModel returns a model of another provider.
func (s codecSuite) foreignModel() string {
	for _, name := range catalog.ProviderNames() {
		if e, ok := catalog.Default(name); ok && name != s.providerName() {
			return e.Model
		}
	}
	return ""
}

// testHealth asks the provider for its models, with the key and without a body.
// Neither a refusal nor a web page is taken for a healthy API.
func (s codecSuite) testHealth(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.RequestURI(); got != "GET "+s.HealthURI {
			t.Errorf("%s, want GET %s", got, s.HealthURI)
		}
		if !strings.Contains(fmt.Sprint(r.Header), canaryKey) {
			t.Error("without the key")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[]}`)
	})
	client := s.newClient(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	if err := client.Health(t.Context()); err != nil {
		t.Error(err)
	}
	answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	var e *provider.Error
	if err := client.Health(t.Context()); !errors.As(err, &e) || e.Kind != provider.Authentication {
		t.Errorf("%v, want an authentication error", err)
	}
	answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>log in</html>")
	}
	if err := client.Health(t.Context()); !errors.As(err, &e) {
		t.Errorf("%v, want an error", err)
	}
}

// refusing is a throttle that lets no call through.
type refusing struct{ asked int }

func (r *refusing) Wait(context.Context) error { r.asked++; return context.DeadlineExceeded }

func (s codecSuite) testThrottle(t *testing.T) {
	throttle := &refusing{}
	client := s.clientOf(t, provider.Config{BaseURL: "http://127.0.0.1:1", Throttle: throttle})
	if _, err := client.Complete(
		t.Context(), s.newRequest(), nil,
	); !errors.Is(err, context.DeadlineExceeded) || throttle.asked != 1 {
		t.Errorf("asked %d times, %v", throttle.asked, err)
	}
}
