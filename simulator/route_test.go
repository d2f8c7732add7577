package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/simulator/script"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		url      string
		header   string
		provider string
		op       script.Operation
		id, path string
	}{
		{"/v1/messages", "", "anthropic", script.Generate, "", "/v1/messages"},
		{"/anthropic/v1/messages", "", "anthropic", script.Generate, "", "/v1/messages"},
		{"/v1/messages/count_tokens", "", "anthropic", script.Count, "", "/v1/messages/count_tokens"},
		{"/v1/models", "x-api-key", "anthropic", script.Models, "", "/v1/models"},
		{"/v1/models", "Authorization", "openai", script.Models, "", "/v1/models"},
		{"/v1/models", "x-goog-api-key", "gemini", script.Models, "", "/v1/models"},
		{"/anthropic/v1/models/claude-opus-4-6", "Authorization", "anthropic", script.Model, "claude-opus-4-6",
			"/v1/models/claude-opus-4-6"},
		{"http://api.anthropic.com/v1/models", "Authorization", "anthropic", script.Models, "", "/v1/models"},
		{"http://generativelanguage.googleapis.com:443/v1/models", "", "gemini", script.Models, "", "/v1/models"},
		{"/chat/completions", "Authorization", "chat", script.Generate, "", "/chat/completions"},
		{"/chat/v1/chat/completions", "", "chat", script.Generate, "", "/v1/chat/completions"},
		{"http://api.deepseek.com/chat/completions", "", "chat", script.Generate, "", "/chat/completions"},
		{"/v1/responses", "", "openai", script.Generate, "", "/v1/responses"},
		{"/v1/responses/input_tokens", "", "openai", script.Count, "", "/v1/responses/input_tokens"},
		{"/v1/responses/resp_1", "", "openai", script.Stored, "resp_1", "/v1/responses/resp_1"},
		{"/v1/responses/resp_1/cancel", "", "openai", script.Cancel, "resp_1", "/v1/responses/resp_1/cancel"},
		{"/openai/v1/responses/resp_1/input_items", "", "openai", script.Inputs, "resp_1",
			"/v1/responses/resp_1/input_items"},
		{"/v1/responses/resp_1/what", "", "openai", "", "", "/v1/responses/resp_1/what"},
		{"/v1/responses/", "", "openai", "", "", "/v1/responses/"},
		{"http://chatgpt.com/backend-api/codex/responses", "Authorization", "openai", script.Generate, "",
			"/v1/responses"},
		{"/v1beta/models/m:generateContent", "", "gemini", script.Generate, "m", "/v1beta/models/m:generateContent"},
		{"/v1/models/m:streamGenerateContent", "", "gemini", script.Generate, "m",
			"/v1/models/m:streamGenerateContent"},
		{"/gemini/v1beta/models/m:countTokens", "", "gemini", script.Count, "m", "/v1beta/models/m:countTokens"},
		{"/v1beta/models", "", "gemini", script.Models, "", "/v1beta/models"},
		{"/v1beta/models/m", "", "gemini", script.Model, "m", "/v1beta/models/m"},
		{"/v1beta/models/m:embedContent", "", "gemini", "", "", "/v1beta/models/m:embedContent"},
		{"/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent", "", "gemini", script.Generate,
			"m", "/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent"},
		{"/", "", "openai", "", "", "/"},
		{"/favicon.ico", "x-api-key", "anthropic", "", "", "/favicon.ico"},
	} {
		r := httptest.NewRequest(http.MethodPost, c.url, nil)
		if c.header != "" {
			r.Header.Set(c.header, "k")
		}
		if got := routeOf(r, ""); got.Name != c.provider || got.op != c.op || got.id != c.id || got.path != c.path {
			t.Errorf("%s: %s %s %s %s, want %+v", c.url, got.Name, got.op, got.id, got.path, c)
		}
	}
}

// credentials are what each provider wants to be asked with.
var credentials = map[string]http.Header{
	"anthropic": {"X-Api-Key": {"fake"}, "Anthropic-Version": {"2023-06-01"}},
	"openai":    {"Authorization": {"Bearer fake"}},
	"gemini":    {"X-Goog-Api-Key": {"fake"}},
	"chat":      {"Authorization": {"Bearer fake"}},
}

// answer calls the handler without a network.
func answer(t *testing.T, h http.Handler, method, url, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	provider, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	for name, values := range credentials[provider] {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// inShape reports whether body is the error envelope of a provider and names the
// status where the envelope has one.
func inShape(provider string, status int, body []byte) bool {
	var e struct {
		Type  string `json:"type"`
		Error *struct {
			Type    string  `json:"type"`
			Message *string `json:"message"`
			Code    any     `json:"code"`
			Status  string  `json:"status"`
		} `json:"error"`
	}
	body = bytes.TrimSuffix(bytes.TrimPrefix(body, []byte("[")), []byte("]"))
	if json.Unmarshal(body, &e) != nil || e.Error == nil || e.Error.Message == nil {
		return false
	}
	switch provider {
	case "anthropic":
		return e.Type == "error" && e.Error.Type != ""
	case "openai", "chat":
		return e.Error.Type != ""
	}
	return e.Error.Code == float64(status) && e.Error.Status != ""
}

// TestMisdirected holds that what asks for nothing that there is is told so in
// the provider's shape.
func TestMisdirected(t *testing.T) {
	h := New(Config{})
	large := strings.Repeat("x", maxRequest+1)
	for _, c := range []struct {
		method, url, body string
		status            int
	}{
		{"POST", "/anthropic/v1/complete", "", 404},
		{"GET", "/anthropic/v1/messages", "", 405},
		{"POST", "/anthropic/v1/models", "", 405},
		{"GET", "/anthropic/v1/models/claude-2", "", 404},
		{"POST", "/anthropic/v1/messages", large, 413},
		{"POST", "/openai/v1/completions", "", 404},
		{"PUT", "/openai/v1/responses", "", 405},
		{"GET", "/openai/v1/responses/resp_1", "", 404},
		{"GET", "/openai/v1/models/gpt-2", "", 404},
		{"POST", "/openai/v1/responses", large, 413},
		{"POST", "/chat/v1/completions", "", 404},
		{"GET", "/chat/v1/chat/completions", "", 405},
		{"GET", "/chat/v1/models/gpt-2", "", 404},
		{"POST", "/chat/v1/chat/completions", large, 413},
		{"POST", "/gemini/v1beta/what", "", 404},
		{"GET", "/gemini/v1beta/models/gemini-3.5-flash:generateContent", "", 405},
		{"GET", "/gemini/v1beta/models/gemini-1", "", 404},
		{"POST", "/gemini/v1beta/models/gemini-3.5-flash:countTokens", large, 413},
	} {
		w := answer(t, h, c.method, c.url, c.body)
		provider := strings.Split(c.url, "/")[1]
		if w.Code != c.status || !inShape(provider, c.status, w.Body.Bytes()) {
			t.Errorf("%s %s: %d %.200s; want %d in the shape of %s", c.method, c.url, w.Code, w.Body,
				c.status, provider)
		}
		if c.status == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s: does not say what is allowed", c.method, c.url)
		}
	}
}

// TestVertex holds that a path of Vertex is served as one of the Developer API.
func TestVertex(t *testing.T) {
	h := New(Config{})
	const body = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	for _, prefix := range []string{"/v1/projects/p/locations/l/", "/v1beta1/projects/p/locations/l/", "/v1/",
		"/gemini/v1/projects/p/locations/l/"} {
		for method, said := range map[string]string{"generateContent": `"candidates": [`,
			"streamGenerateContent?alt=sse": `data: {"candidates": [`, "countTokens": `"totalTokens": `} {
			r := httptest.NewRequest(http.MethodPost, prefix+"publishers/google/models/gemini-3.5-flash:"+method,
				strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer made-up")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), said) {
				t.Errorf("%s: %d %s", r.URL, w.Code, w.Body)
			}
		}
	}
}

// TestProviders holds that a provider that is not served is not there.
func TestProviders(t *testing.T) {
	h := New(Config{Providers: []string{"openai"}})
	if w := answer(t, h, "GET", "/openai/v1/models", ""); w.Code != 200 {
		t.Errorf("openai: %d", w.Code)
	}
	if w := answer(t, h, "GET", "/anthropic/v1/models", ""); w.Code != 404 ||
		!inShape("anthropic", 404, w.Body.Bytes()) {
		t.Errorf("anthropic: %d %s", w.Code, w.Body)
	}
}

// TestKeyless holds that the other operations want a key, too.
func TestKeyless(t *testing.T) {
	for url, status := range map[string]int{"/anthropic/v1/models": 401, "/openai/v1/models": 401,
		"/openai/v1/responses/x": 401, "/gemini/v1beta/models": 403} {
		w := httptest.NewRecorder()
		New(Config{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
		if w.Code != status {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
}

// Only OpenAI's Responses API has a WebSocket here; clients go on by HTTP at once after 426.
func TestWebSocketIsRefused(t *testing.T) {
	for url, provider := range map[string]string{
		"/openai/v1/realtime": "openai", "/v1/responses/input_tokens": "openai", "/anthropic/v1/messages": "anthropic",
		"/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent": "gemini",
	} {
		r := httptest.NewRequest(http.MethodGet, url, nil)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
		w := httptest.NewRecorder()
		New(Config{}).ServeHTTP(w, r)
		if w.Code != http.StatusUpgradeRequired || !inShape(provider, w.Code, w.Body.Bytes()) {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
}
