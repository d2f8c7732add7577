package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// clients makes one client of each provider.
func clients(t *testing.T, cfg provider.Config) map[string]*provider.Client {
	t.Helper()
	a, err := provider.New(anthropic.Codec{}, cfg)
	o, oerr := provider.New(openai.Codec{}, cfg)
	g, gerr := provider.New(gemini.Codec{}, cfg)
	if err := errors.Join(err, oerr, gerr); err != nil {
		t.Fatal(err)
	}
	return map[string]*provider.Client{"/v1/models?limit=1": a, "/v1/models": o, "/v1beta/models?pageSize=1": g}
}

// TestHealth asks each provider for its models, with the key and without a
// body, and believes neither a refusal nor a page that is no API.
func TestHealth(t *testing.T) {
	answer := http.HandlerFunc(nil)
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		answer(w, r)
	}))
	defer server.Close()
	for want, client := range clients(t, provider.Config{BaseURL: server.URL, APIKey: "made-up"}) {
		var health provider.HealthChecker = client
		answer = func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("X-Api-Key")+r.Header.Get("Authorization")+r.Header.Get("X-Goog-Api-Key"), "made-up") {
				t.Errorf("%s: without the key", client.Provider())
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[]}`))
		}
		if err := health.Health(t.Context()); err != nil || asked != "GET "+want {
			t.Errorf("%s: %s, %v; want GET %s", client.Provider(), asked, err, want)
		}
		answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
		var e *provider.Error
		if err := health.Health(t.Context()); !errors.As(err, &e) || e.Kind != provider.Authentication {
			t.Errorf("%s: %v, want an authentication error", client.Provider(), err)
		}
		answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>log in</html>"))
		}
		if err := health.Health(t.Context()); !errors.As(err, &e) {
			t.Errorf("%s: %v, want an error", client.Provider(), err)
		}
	}
}

// refusing is a throttle that never lets a call through.
type refusing struct{ asked int }

func (r *refusing) Wait(context.Context) error { r.asked++; return context.DeadlineExceeded }

func TestThrottle(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a call was sent") }))
	defer server.Close()
	throttle := &refusing{}
	for _, client := range clients(t, provider.Config{BaseURL: server.URL, APIKey: "made-up", Throttle: throttle}) {
		_, err := client.Complete(t.Context(), &provider.Request{Model: model(client), Messages: []transcript.Message{transcript.User("hi")}}, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", client.Provider(), err)
		}
	}
	if throttle.asked != 3 {
		t.Errorf("asked %d times, want 3", throttle.asked)
	}
}

func model(c *provider.Client) string {
	return map[string]string{"anthropic": "claude-opus-4-6", "openai": "gpt-5.2", "gemini": "gemini-3-flash-preview"}[c.Provider()]
}

// TestTooLarge refuses what Anthropic refuses, before it is sent.
func TestTooLarge(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a call was sent") }))
	defer server.Close()
	client, err := provider.New(anthropic.Codec{}, provider.Config{BaseURL: server.URL, APIKey: "made-up"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Complete(t.Context(), &provider.Request{Model: model(client), Messages: []transcript.Message{transcript.User(strings.Repeat("x", 32<<20))}}, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ContextTooLong || !strings.Contains(err.Error(), "more than the 32 MB") {
		t.Error(err)
	}
}

// TestNoHalfOfASecret: an excerpt of an answer that repeats the key does not cut
// it in two before it is found.
func TestNoHalfOfASecret(t *testing.T) {
	const key = "canary-canary-canary-canary"
	for _, status := range []int{http.StatusBadGateway, http.StatusOK} {
		for room := 160; room < 210; room++ {
			text := strings.Repeat("x", room) + key
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
			}))
			c, err := provider.New(openai.Codec{}, provider.Config{BaseURL: server.URL, APIKey: key})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Complete(t.Context(), &provider.Request{Model: "gpt-5.2", Messages: []transcript.Message{transcript.User("x")}}, nil)
			server.Close()
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Fatalf("%d: %v", room, err)
			}
		}
	}
}
