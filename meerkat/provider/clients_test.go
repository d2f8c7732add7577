package provider_test

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
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// canary is the key of every client in these tests. No error, no printed value
// may hold it.
const canary = "sk-canary-0123456789+/secret"

// subject is one client and what its provider would say.
type subject struct {
	name        string
	model       string
	codec       provider.Codec
	path, query string
	unaryPath   string
	header      map[string]string
	// head and tail are one streamed reply that says "hello"; unary the same as
	// one body.
	head, tail, unary string
	// failed is a stream that reports a failure.
	failed     string
	failedKind provider.Kind
}

func events(datas ...string) string {
	var s strings.Builder
	for _, d := range datas {
		kind, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		fmt.Fprintf(&s, "event: %s\ndata: %s\n\n", kind, d)
	}
	return s.String()
}

var subjects = []subject{
	{
		name: "anthropic", model: "claude-opus-4-5", codec: anthropic.Codec{},
		path: "/v1/messages", unaryPath: "/v1/messages",
		header: map[string]string{
			"X-Api-Key": canary, "Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
			"Anthropic-Beta": "extra-2026-01-01,interleaved-thinking-2025-05-14", "Accept": "text/event-stream",
		},
		head: events(
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}}`,
		),
		tail: events(
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`,
			`{"type":"message_stop"}`,
		),
		unary:      `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`,
		failed:     events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded ` + canary + `"}}`),
		failedKind: provider.Overloaded,
	},
	{
		name: "openai", model: "gpt-5.2", codec: openai.Codec{},
		path: "/v1/responses", unaryPath: "/v1/responses",
		header: map[string]string{"Authorization": "Bearer " + canary, "Content-Type": "application/json", "Accept": "text/event-stream"},
		head: events(
			`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5.2","output":[],"usage":null}}`,
			`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`,
			`{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}`,
			`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"hel"}`,
		),
		tail: events(
			`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo"}`,
			`{"type":"response.output_text.done","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"text":"hello"}`,
			`{"type":"response.content_part.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"hello"}}`,
			`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hello"}],"role":"assistant"}}`,
			`{"type":"response.completed","sequence_number":8,"response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hello"}],"role":"assistant"}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}}`,
		),
		unary: `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hello"}],"role":"assistant"}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}`,
		failed: events(
			`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5.2","output":[],"usage":null}}`,
			`{"type":"error","sequence_number":1,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit reached for `+canary+`. Please try again in 1.2s.","param":null}}`,
		),
		failedKind: provider.RateLimited,
	},
	{
		name: "gemini", model: "gemini-3-flash-preview", codec: gemini.Codec{},
		path: "/v1beta/models/gemini-3-flash-preview:streamGenerateContent", query: "alt=sse",
		unaryPath:  "/v1beta/models/gemini-3-flash-preview:generateContent",
		header:     map[string]string{"X-Goog-Api-Key": canary, "Content-Type": "application/json", "Accept": "text/event-stream"},
		head:       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hel\"}],\"role\":\"model\"},\"index\":0}],\"responseId\":\"r1\"}\r\n\r\n",
		tail:       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5},\"modelVersion\":\"gemini-3-flash-preview\",\"responseId\":\"r1\"}\r\n\r\n",
		unary:      `{"candidates":[{"content":{"parts":[{"text":"hello"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"gemini-3-flash-preview","responseId":"r1"}`,
		failed:     "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded. " + canary + "\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n",
		failedKind: provider.Overloaded,
	},
}

// each runs f for every client against a server with handler h.
func each(t *testing.T, f func(t *testing.T, s subject)) {
	t.Helper()
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) { f(t, s) })
	}
}

// client returns a client of s against handler, below an optional path.
func (s subject) client(t *testing.T, handler http.HandlerFunc) *provider.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // only then does the server notice a client that leaves
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return s.at(t, provider.Config{BaseURL: server.URL, HTTPClient: server.Client()})
}

func (s subject) at(t *testing.T, cfg provider.Config) *provider.Client {
	t.Helper()
	cfg.APIKey = canary
	c, err := provider.New(s.codec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s subject) request() *provider.Request {
	return &provider.Request{Model: s.model, System: "Be brief.", Messages: []transcript.Message{transcript.User("say hello")}, Account: "acct"}
}

// fails calls c, which must fail with a clean *provider.Error.
func fails(t *testing.T, c *provider.Client, req *provider.Request) *provider.Error {
	t.Helper()
	return failsIn(t.Context(), t, c, req)
}

func failsIn(ctx context.Context, t *testing.T, c *provider.Client, req *provider.Request) *provider.Error {
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

// The reply is read while it arrives: the server sends its second half only
// after the client has told of the first.
func TestStream(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		heard := make(chan struct{})
		var body []byte
		var got http.Request
		c := s.client(t, func(w http.ResponseWriter, r *http.Request) {
			got = *r
			body, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, s.head)
			w.(http.Flusher).Flush()
			select {
			case <-heard:
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, s.tail)
		})
		if s.name == "anthropic" {
			cfg := provider.Config{BaseURL: "http://" + hostOf(c), Header: http.Header{"Anthropic-Beta": {"extra-2026-01-01 , interleaved-thinking-2025-05-14"}}}
			c = s.at(t, cfg)
		}
		req := s.request()
		reply, err := c.Complete(t.Context(), req, func(e stream.Event) {
			if e.Kind == stream.EventTextDelta && string(e.Delta) == "hel" {
				close(heard)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if reply.Message.String() != "hello" || reply.Message.StopReason != transcript.StopEndTurn {
			t.Errorf("reply %q, %s", reply.Message.String(), reply.Message.StopReason)
		}
		if o := reply.Message.Blocks[0].Origin; o == nil || o.Provider != s.name || o.Model != s.model || o.Account != "acct" || o.API == "" {
			t.Errorf("origin %+v", o)
		}
		if got.Method != http.MethodPost || got.URL.Path != s.path || got.URL.RawQuery != s.query {
			t.Errorf("%s %s", got.Method, got.URL)
		}
		for k, want := range s.header {
			if s.name == "anthropic" && k == "Anthropic-Beta" {
				want = "extra-2026-01-01,interleaved-thinking-2025-05-14"
			}
			if v := got.Header.Get(k); v != want {
				t.Errorf("%s: %q, want %q", k, v, want)
			}
		}
		rendered, err := c.Render(req)
		if err != nil || !bytes.Equal(rendered, body) {
			t.Errorf("sent %s\nrendered %s, %v", body, rendered, err)
		}
	})
}

// hostOf reads the address a client prints.
func hostOf(c *provider.Client) string {
	_, rest, _ := strings.Cut(fmt.Sprint(c), "http://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

func TestUnary(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		c := s.client(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != s.unaryPath || r.URL.RawQuery != "" || r.Header.Get("Accept") != "application/json" {
				t.Errorf("%s, accept %s", r.URL, r.Header.Get("Accept"))
			}
			w.Header().Set("Content-Type", "application/json; charset=UTF-8")
			_, _ = io.WriteString(w, s.unary)
		})
		req := s.request()
		req.Unary = true
		reply, err := c.Complete(t.Context(), req, nil)
		if err != nil || reply.Message.String() != "hello" || reply.Usage.OutputTokens != 2 {
			t.Errorf("%+v, %v", reply, err)
		}
	})
}

// The interleaved-thinking beta goes along exactly while thinking is on.
func TestInterleavedHeader(t *testing.T) {
	s := subjects[0]
	var beta string
	c := s.client(t, func(w http.ResponseWriter, r *http.Request) {
		beta = r.Header.Get("Anthropic-Beta")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.unary)
	})
	for effort, want := range map[string]string{"": "interleaved-thinking-2025-05-14", "none": ""} {
		req := s.request()
		req.Unary, req.Effort = true, effort
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if beta != want {
			t.Errorf("effort %q: beta %q, want %q", effort, beta, want)
		}
	}
}

// A base URL may name the version or not, below a prefix or not.
func TestBaseURL(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		var path string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, s.unary)
		}))
		defer server.Close()
		version := s.unaryPath[:strings.Index(s.unaryPath[1:], "/")+1]
		for base, want := range map[string]string{
			"": s.unaryPath, "/": s.unaryPath, version: s.unaryPath, version + "/": s.unaryPath,
			"/gw/llm": "/gw/llm" + s.unaryPath, "/gw/llm" + version: "/gw/llm" + s.unaryPath,
			"/v9alpha": strings.Replace(s.unaryPath, version, "/v9alpha", 1),
		} {
			c := s.at(t, provider.Config{BaseURL: server.URL + base})
			req := s.request()
			req.Unary = true
			if _, err := c.Complete(t.Context(), req, nil); err != nil {
				t.Fatalf("%s: %v", base, err)
			}
			if path != want {
				t.Errorf("base %q: path %s, want %s", base, path, want)
			}
		}
		for _, bad := range []string{"api.example.com", "ftp://x", "http://u:p@x", "http://x?key=1", "http://x#f", "http://", "http://[::1", ":"} {
			if _, err := provider.New(s.codec, provider.Config{BaseURL: bad}); err == nil || !strings.HasPrefix(err.Error(), s.name+": base URL: it ") || strings.Contains(err.Error(), "u:p") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}

func TestNothingIsSent(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		c := s.client(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
		req := s.request()
		req.Model = "claude-3-opus-20240229"
		e := fails(t, c, req)
		var unsupported *catalog.UnsupportedModel
		if e.Kind != provider.ModelNotFound || !errors.As(e, &unsupported) || e.Retryable() {
			t.Errorf("rejected model: %v", e)
		}
		req.Model = subjects[(indexOf(s)+1)%3].model
		if e := fails(t, c, req); e.Kind != provider.ModelNotFound || !strings.Contains(e.Error(), "it is a model of") {
			t.Errorf("another provider's model: %v", e)
		}
		req = s.request()
		req.Effort = "enormous"
		if e := fails(t, c, req); e.Kind != provider.InvalidRequest || !strings.Contains(e.Error(), `effort: "enormous"`) {
			t.Errorf("effort: %v", e)
		}
		keyless, err := provider.New(s.codec, provider.Config{})
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ToUpper(s.name) + "_API_KEY"
		if e := fails(t, keyless, s.request()); e.Kind != provider.Authentication || !strings.Contains(e.Error(), want) {
			t.Errorf("no key: %v", e)
		}
	})
}

func indexOf(s subject) int {
	for i := range subjects {
		if subjects[i].name == s.name {
			return i
		}
	}
	return -1
}

// An unlisted model goes out when the caller's lookup lets it.
func TestLookupIsTheCallers(t *testing.T) {
	c, err := provider.New(openai.Codec{}, provider.Config{Lookup: catalog.Unlisted})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Render(&provider.Request{Model: "gpt-4.1", Messages: []transcript.Message{transcript.User("x")}}); err != nil {
		t.Error(err)
	}
}
