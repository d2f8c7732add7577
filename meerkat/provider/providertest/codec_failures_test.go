package providertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

func (s codecSuite) testFailureInsideStream(t *testing.T) {
	t.Helper()
	c := s.newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Request-Id", "req_1")
		_, _ = io.WriteString(w, s.Failed)
	})
	e := mustFail(t, c, s.newRequest())
	if e.Kind != s.FailedKind || e.Status != 200 || e.RequestID != "req_1" || !e.Retryable() ||
		!strings.Contains(e.Message, "[redacted]") {
		t.Errorf("%+v", e)
	}
	if s.FailedDelay != 0 && (e.RetryAfter == nil || *e.RetryAfter != s.FailedDelay) {
		t.Errorf("retry after %v", e.RetryAfter)
	}
}

// A stream that ends before its provider said so is not a reply.
func (s codecSuite) testCutStream(t *testing.T) {
	t.Helper()
	for name, c := range map[string]struct {
		cut  func(w http.ResponseWriter)
		want provider.Kind
	}{
		"clean end":  {func(http.ResponseWriter) {}, provider.Incomplete},
		"connection": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, provider.ConnectionReset},
	} {
		client := s.newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, s.Head)
			w.(http.Flusher).Flush()
			c.cut(w)
		})
		if e := mustFail(t, client, s.newRequest()); e.Kind != c.want || !e.Retryable() {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func (s codecSuite) testStallAndCancel(t *testing.T) {
	t.Helper()
	gone := make(chan struct{})
	c := s.newClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, s.Head)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := s.newRequest()
	_, err := c.Complete(ctx, req, func(e stream.Event) {
		if e.Kind == stream.EventTextDelta {
			cancel()
		}
	})
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.Cancelled || !errors.Is(err, context.Canceled) || e.Retryable() {
		t.Errorf("%v", err)
	}
	<-gone // the server was told
}

func (s codecSuite) testDeadline(t *testing.T) {
	t.Helper()
	c := s.newClient(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	e := mustFailIn(ctx, t, c, s.newRequest())
	if e.Kind != provider.Timeout || !errors.Is(e, context.DeadlineExceeded) || !e.Retryable() {
		t.Errorf("%v", e)
	}
}

func (s codecSuite) testNobodyListens(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(nil)
	server.Close()
	e := mustFail(t, s.clientOf(t, provider.Config{BaseURL: server.URL + "/prefix"}), s.newRequest())
	if e.Kind != provider.ConnectionReset || !e.Retryable() || !strings.Contains(e.Error(), "refused") ||
		strings.Contains(e.Error(), "/prefix") {
		t.Errorf("%v", e)
	}
}

// A redirect would carry the key to another host, so it is an error.
func (s codecSuite) testRedirect(t *testing.T) {
	t.Helper()
	elsewhere := httptest.NewServer(http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") },
	))
	defer elsewhere.Close()
	c := s.newClient(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/?k="+canaryKey, http.StatusTemporaryRedirect)
	})
	if e := mustFail(t, c, s.newRequest()); e.Status != 307 || e.Retryable() ||
		!strings.Contains(e.Message, "base URL") {
		t.Errorf("%v", e)
	}
}

func (s codecSuite) testWrongContentType(t *testing.T) {
	t.Helper()
	for name, c := range map[string]struct {
		contentType, body string
		want              string
		kind              provider.Kind
	}{
		"page": {
			"text/html; charset=utf-8", "<html><title>Sign in</title>" + canaryKey,
			`the answer is text/html, not text/event-stream; check that the base URL is the API's (it begins "Sign in")`,
			provider.StreamParse,
		},
		"text":       {"text/plain", "hello " + canaryKey, "the answer is text/plain", provider.StreamParse},
		"unreadable": {";", "x", "an unreadable content type", provider.StreamParse},
		"hidden error": {
			"text/plain", `{"error":{"type":"overloaded_error","message":"Overloaded ` + canaryKey + `"}}`,
			"Overloaded", provider.Overloaded,
		},
		"garbage":  {"text/event-stream", "\x00\x01\x02 garbage " + canaryKey + "\n\n", "", provider.Incomplete},
		"nothing":  {"text/event-stream", "", "", provider.Incomplete},
		"bad JSON": {"text/event-stream", "event: message_start\ndata: {\"type\":\n\n", "", provider.StreamParse},
	} {
		client := s.newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.contentType)
			_, _ = io.WriteString(w, c.body)
		})
		if e := mustFail(t, client, s.newRequest()); e.Kind != c.kind || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %s: %v", name, e.Kind, e)
		}
	}
}

// Nothing that prints a client or its configuration prints the key.
func (s codecSuite) testKeyIsNeverPrinted(t *testing.T) {
	t.Helper()
	cfg := provider.Config{APIKey: canaryKey, Header: http.Header{"X-Gateway-Key": {canaryKey + "2"}}}
	c, err := provider.New(s.Codec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{c, cfg, &cfg, []any{c, cfg}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "canary") ||
				strings.Contains(text, "63616e617279") {
				t.Errorf("%s of %T: %s", verb, v, text)
			}
		}
	}
}

// Errors come in every content type and in many shapes.
func (s codecSuite) testErrorBodies(t *testing.T) {
	seconds := func(s float64) *time.Duration {
		d := time.Duration(s * float64(time.Second))
		return &d
	}
	no := false
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   provider.Error
	}{
		"anthropic": {400,
			map[string]string{"Request-Id": "req_h", "X-Should-Retry": "false", "Content-Type": "application/json"},
			`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"},"request_id":"req_b"}`,
			provider.Error{
				Kind: provider.InvalidRequest, Type: "invalid_request_error", Message: "max_tokens: Field required",
				RequestID: "req_h", ShouldRetry: &no,
			}},
		"id in body": {529, nil,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_b"}`,
			provider.Error{
				Kind: provider.Overloaded, Type: "overloaded_error", Message: "Overloaded", RequestID: "req_b",
			}},
		"a spent tier": {429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"Spend limit.",` +
			`"details":{"error_code":"enforced_spend_limit_reached"}}}`,
			provider.Error{
				Kind: provider.RateLimited, Type: "rate_limit_error", Code: "enforced_spend_limit_reached",
				Message: "Spend limit.",
			}},
		"details of another form": {400, nil,
			`{"type":"error","error":{"type":"invalid_request_error","message":"No.","details":"text"}}`,
			provider.Error{Kind: provider.InvalidRequest, Type: "invalid_request_error", Message: "No."}},
		"openai as text": {401, map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Request-Id": "req_o"},
			`{"error":{"message":"Incorrect API key provided: ` + canaryKey +
				`.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			provider.Error{
				Kind: provider.Authentication, Type: "invalid_request_error", Code: "invalid_api_key",
				Message: "Incorrect API key provided: [redacted].", RequestID: "req_o",
			}},
		"openai says when": {429, nil,
			`{"error":{"message":"Rate limit reached. Please try again in 6m0.5s. Visit","type":"tokens","code":"rate_limit_exceeded"}}`,
			provider.Error{
				Kind: provider.RateLimited, Type: "tokens", Code: "rate_limit_exceeded",
				Message: "Rate limit reached. Please try again in 6m0.5s. Visit", RetryAfter: seconds(360.5),
			}},
		"gemini": {429, map[string]string{"Content-Type": "text/event-stream"},
			`{"error":{"code":429,"message":"Quota. Please retry in 48.939935699s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]}}`,
			provider.Error{
				Kind: provider.RateLimited, Type: "RESOURCE_EXHAUSTED",
				Message: "Quota. Please retry in 48.939935699s.", RetryAfter: seconds(48),
			}},
		"gemini in an array": {400, nil,
			`[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`,
			provider.Error{
				Kind: provider.Authentication, Type: "INVALID_ARGUMENT", Code: "API_KEY_INVALID",
				Message: "API key not valid.",
			}},
		"in an event": {503, map[string]string{"Content-Type": "text/event-stream"},
			"event: error\ndata: {\"error\":{\"code\":503,\"message\":\"Busy\",\"status\":\"UNAVAILABLE\"}}\n\n",
			provider.Error{Kind: provider.Overloaded, Type: "UNAVAILABLE", Message: "Busy"}},
		"milliseconds": {429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, `{"error":"slow"}`,
			provider.Error{Kind: provider.RateLimited, Message: "slow", RetryAfter: seconds(1.5)}},
		"seconds": {
			503, map[string]string{"Retry-After": "2.5"}, `{"message":"busy"}`,
			provider.Error{Kind: provider.Overloaded, Message: "busy", RetryAfter: seconds(2.5)},
		},
		"date": {
			429,
			map[string]string{"Date": "Sat, 21 Nov 2026 10:00:00 GMT", "Retry-After": "Sat, 21 Nov 2026 10:00:30 GMT"},
			`{"detail":"wait"}`, provider.Error{Kind: provider.RateLimited, Message: "wait", RetryAfter: seconds(30)},
		},
		"past": {
			429, map[string]string{"Retry-After": "Sat, 21 Nov 2026 09:00:00 GMT"}, `{"detail":[1]}`,
			provider.Error{Kind: provider.RateLimited, Message: "[1]", RetryAfter: seconds(0)},
		},
		"absurd": {
			429, map[string]string{"Retry-After": "1e300"}, `{}`,
			provider.Error{Kind: provider.RateLimited, Message: "{}", RetryAfter: seconds(24 * 3600)},
		},
		"soon": {
			429, map[string]string{"Retry-After": "soon", "Retry-After-Ms": "-1"}, ``,
			provider.Error{Kind: provider.RateLimited},
		},
		"html": {502, map[string]string{"Content-Type": "text/html"},
			"<!DOCTYPE html>\n<html><head><TITLE>502\n Bad Gateway</TITLE></head><body>cloudflare</body></html>",
			provider.Error{Kind: provider.ServerError, Message: "502 Bad Gateway"}},
		"cut JSON": {
			500, nil, `{"error":{"message":"Intern`,
			provider.Error{Kind: provider.ServerError, Message: `{"error":{"message":"Intern`},
		},
		"endless": {
			500, nil, strings.Repeat("x", 1<<20),
			provider.Error{Kind: provider.ServerError, Message: strings.Repeat("x", 200) + "…"},
		},
		"no content": {204, nil, "", provider.Error{Kind: provider.Unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			client := s.clientOf(t, provider.Config{BaseURL: server.URL, Now: func() time.Time { return now }})
			want := c.want
			want.Provider, want.Status = s.providerName(), c.status
			if d := cmp.Diff(&want, mustFail(t, client, s.newRequest())); d != "" {
				t.Error(d)
			}
		})
	}
}

// The key is scrubbed in every form in which an answer may repeat it.
func (s codecSuite) testEchoedKey(t *testing.T) {
	for _, form := range []string{
		canaryKey, "sk-canary-0123456789%2B%2Fsecret", "c2stY2FuYXJ5LTAxMjM0NTY3ODkrL3NlY3JldA==",
		"gateway-secret-canary",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Request-Id", form)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":{"type":%q,"code":%q,"message":%q}}`, form, form, "you sent "+form)
		}))
		c := s.clientOf(t, provider.Config{
			BaseURL: server.URL, Header: http.Header{"X-Gateway-Token": {"gateway-secret-canary"}},
		})
		e := mustFail(t, c, s.newRequest())
		if e.Message != "you sent [redacted]" || e.Type != "[redacted]" || e.RequestID != "[redacted]" {
			t.Errorf("%s: %v", form, e)
		}
		server.Close()
	}
}
