package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy"
)

func TestBaseURLIngress(t *testing.T) {
	p := start(t, proxy.Config{Ingress: []string{proxy.BaseURL}}, func(w http.ResponseWriter, r *http.Request) {
		if !proxy.CameByBaseURL(r.Context()) {
			t.Error("the request does not say that it came by a base URL")
		}
		_, _ = io.WriteString(w, r.URL.String())
	})
	for path, want := range map[string]string{
		"/anthropic/v1/messages": "https://api.anthropic.com/v1/messages",
		"/openai/v1/responses":   "https://api.openai.com/v1/responses",
		"/openai/v1/models":      "https://api.openai.com/v1/models",
		"/gemini/v1beta/models/m:streamGenerateContent?alt=sse": "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
		"/gemini/v1beta/models/a%2Fb:generateContent":           "https://generativelanguage.googleapis.com/v1beta/models/a%2Fb:generateContent",
		"/v1/messages":                     "https://api.anthropic.com/v1/messages",
		"/v1/messages/count_tokens":        "https://api.anthropic.com/v1/messages/count_tokens",
		"/v1/responses":                    "https://api.openai.com/v1/responses",
		"/v1beta/models/m:generateContent": "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",

		"/v1/projects/p/locations/us-east5/publishers/anthropic/models/m:streamRawPredict":       "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/m:streamRawPredict",
		"/vertex/v1/projects/p/locations/global/publishers/google/models/m:generateContent":      "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/m:generateContent",
		"/vertex/v1beta1/projects/p/locations/eu/publishers/google/models/m:countTokens":         "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google/models/m:countTokens",
		"/vertex/v1beta1/publishers/google/models/m:generateContent?key=k":                       "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/m:generateContent?key=k",
		"/vertex/v1/projects/p/locations/europe-west4/publishers/google/models/a%2Fb:rawPredict": "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google/models/a%2Fb:rawPredict",
	} {
		resp, err := http.Get(p.URL() + path)
		if got := body(t, resp, err); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"/", "/v1/models", "/elsewhere",
		"/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
		"/vertex/v1/projects/p/locations/evil.example%2F/publishers/google/models/m"} {
		resp, err := http.Get(p.URL() + path)
		if body(t, resp, err); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, resp.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestDoorsOpenOnlyWhenAsked(t *testing.T) {
	a := authority(t)
	plain := start(t, proxy.Config{CA: a, Ingress: []string{proxy.BaseURL}}, nil404)
	c, _ := client(t, plain, a)
	if _, err := c.Get("https://" + host + "/"); err == nil {
		t.Error("a tunnel opened through the plain ingress")
	}
	mitm := start(t, proxy.Config{CA: a}, nil404)
	resp, err := http.Get(mitm.URL() + "/anthropic/v1/messages")
	if body(t, resp, err); resp.StatusCode != http.StatusForbidden {
		t.Errorf("base URL on an intercepting proxy: status %d, want 403", resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A page in the developer's browser reaches every port of the machine; it must
// not reach a provider, or a recording, through this one.
func TestWebPagesAreRefused(t *testing.T) {
	for _, tt := range []struct {
		host, origin, credential string
		want                     int
	}{
		{"127.0.0.1:1", "", "", 200},
		{"127.0.0.1:1", "cross-site", "", 403}, // an image
		{"127.0.0.1:1", "http://127.0.0.1:1", "", 200},
		{"127.0.0.1:1", "https://site.example", "a-credential-of-24-chars", 200},
		{"[::1]:1", "", "", 200},
		{"localhost:1", "http://localhost:3000", "", 403},
		{"app.localhost", "http://[::1]:3000", "", 403},
		{"app.localhost", "", "", 200},
		{"gateway.example", "", "", 200}, // allowed by name
		{"rebound.example", "", "", 403},
		{"127.0.0.1.example:1", "", "", 403},
		{"127.0.0.1:1", "https://site.example", "", 403},
		{"127.0.0.1:1", "https://ci:hunter42@site.example", "", 403},
		{"127.0.0.1:1", "https://ci:hunter42@site example", "", 403},
		{"127.0.0.1:1", "//ci:hunter42@", "", 403},
		{"127.0.0.1:1", "null", "", 403},
		{"recorder.example", "", "a-credential-of-24-chars", 200},
	} {
		p := start(t, proxy.Config{Ingress: []string{proxy.BaseURL}, AllowHosts: []string{"gateway.example"},
			Credential: tt.credential},
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
		path := "/anthropic/v1/messages"
		if tt.credential != "" {
			path = "/~-:" + tt.credential + path
		}
		r, err := http.NewRequest(http.MethodPost, p.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch r.Host = tt.host; tt.origin {
		case "":
		case "cross-site":
			r.Header.Set("Sec-Fetch-Site", tt.origin)
		default:
			r.Header.Set("Origin", tt.origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if text := body(t, resp, err); resp.StatusCode != tt.want || strings.Contains(text, "hunter42") {
			t.Errorf("host %s, origin %q: status %d, want %d: %s", tt.host, tt.origin, resp.StatusCode, tt.want, text)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// G16 by base URL: clients that prefer a WebSocket fall back at once.
func TestWebSocketByBaseURLIsRefused(t *testing.T) {
	p := start(t, proxy.Config{Ingress: []string{proxy.BaseURL}},
		func(http.ResponseWriter, *http.Request) { t.Error("reached the handler") })
	req, _ := http.NewRequest(http.MethodGet, p.URL()+"/openai/v1/responses", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	resp, err := http.DefaultClient.Do(req)
	if body(t, resp, err); resp.StatusCode != http.StatusUpgradeRequired || p.Upgrades() != 1 {
		t.Errorf("status %d, want 426; %d counted", resp.StatusCode, p.Upgrades())
	}
}
