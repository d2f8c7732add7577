package llm

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestProvider(t *testing.T) {
	for _, tt := range []struct{ host, path, want string }{
		{"api.anthropic.com", "/anything", "anthropic"},
		{"API.OpenAI.com:443", "/v1/responses", "openai"},
		{"api.openai.com", "/v1/chat/completions", "chat"},
		{"api.deepseek.com", "/chat/completions", "chat"},
		{"generativelanguage.googleapis.com", "/v1beta/openai/chat/completions", "chat"},
		{"generativelanguage.googleapis.com.", "/", "gemini"},
		{"us-central1-aiplatform.googleapis.com",
			"/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "gemini"},
		{"aiplatform.googleapis.com", "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
			"anthropic"},
		{"aiplatform.eu.rep.googleapis.com", "/v1/publishers/mistralai/models/m:rawPredict", ""},
		{"mars-north1-aiplatform.googleapis.com", "/v1/endpoints", ""},
		{"127.0.0.1:8080", "/v1/messages", "anthropic"},
		{"127.0.0.1:8080", "/proxy/v1/messages/count_tokens", "anthropic"},
		{"localhost", "/v1/responses/resp_1/cancel", "openai"},
		{"[::1]:99", "/v1beta/models", "gemini"},
		{"gateway.example", "/x/models/gemini-3:streamGenerateContent", "gemini"},
		{"gateway.example", "/v1/messagesque", ""},
		{"evil.api.anthropic.com", "/", ""},
	} {
		if got := Provider(tt.host, tt.path); got != tt.want {
			t.Errorf("Provider(%q, %q) = %q, want %q", tt.host, tt.path, got, tt.want)
		}
	}
}

func TestHostsAreTheCallersOwn(t *testing.T) {
	a := Hosts()
	seen := map[string]bool{}
	for _, h := range a {
		if seen[h] || h != strings.ToLower(h) {
			t.Errorf("host %q is listed twice or not in lower case", h)
		}
		seen[h] = true
	}
	if !seen["api.anthropic.com"] || !seen["us-east5-aiplatform.googleapis.com"] {
		t.Errorf("hosts = %v", a)
	}
	a[0] = "changed"
	if Hosts()[0] == "changed" {
		t.Error("a caller's change shows")
	}
}

func TestOperationOf(t *testing.T) {
	for _, tt := range []struct {
		method, url, body string
		want              Operation
	}{
		{"POST", "https://api.anthropic.com/v1/messages", `{"stream":true}`, Stream},
		{"POST", "https://api.anthropic.com/v1/messages?beta=true", `{"model":"m"}`, Unary},
		{"POST", "https://api.anthropic.com/v1/messages", `{"messages":[{"stream":true}]}`, Unary},
		{"POST", "https://api.anthropic.com/v1/messages", `not json`, Unary},
		{"POST", "https://api.anthropic.com/v1/messages/count_tokens", `{}`, Count},
		{"POST", "https://api.anthropic.com/v1/messages/batches", `{}`, Other},
		{"GET", "https://api.anthropic.com/v1/models/claude", ``, Models},
		{"POST", "https://api.openai.com/v1/responses", `{"stream": true}`, Stream},
		{"POST", "https://api.openai.com/v1/responses/", `{}`, Unary},
		{"POST", "https://chatgpt.com/backend-api/codex/responses", `{"stream": true}`, Stream},
		{"GET", "https://chatgpt.com/backend-api/codex/models?client_version=0.169.0", ``, Models},
		{"POST", "https://chatgpt.com/backend-api/conversation", `{"stream": true}`, Other},
		{"POST", "https://api.openai.com/v1/responses/input_tokens", `{}`, Count},
		{"POST", "https://api.openai.com/v1/responses/compact", `{}`, Other},
		{"GET", "https://api.openai.com/v1/responses/resp_1?stream=true&starting_after=3", ``, Stream},
		{"GET", "https://api.openai.com/v1/responses/resp_1", ``, Other},
		{"DELETE", "https://api.openai.com/v1/responses/resp_1", ``, Other},
		{"POST", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
			`{}`, Stream},
		{"POST", "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", `{}`, Unary},
		{"POST", "https://generativelanguage.googleapis.com/v1beta/models/m:countTokens", `{}`, Count},
		{"POST", "https://generativelanguage.googleapis.com/v1beta/models/m:embedContent", `{}`, Other},
		{"GET", "https://generativelanguage.googleapis.com/v1beta/models", ``, Models},
		{"POST",
			"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/m:streamRawPredict", `{}`, Stream},
		{"POST", "https://example.com/", `{"stream":true}`, Other},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := OperationOf(tt.method, u, []byte(tt.body)); got != tt.want {
			t.Errorf("%s %s %s: %q, want %q", tt.method, tt.url, tt.body, got, tt.want)
		}
	}
}

func TestErrorBody(t *testing.T) {
	const message = `no reply for <POST> "x"`
	for _, tt := range []struct {
		provider string
		status   int
		want     string
	}{
		{"anthropic", 529, `"type":"overloaded_error"`},
		{"anthropic", 404, `"type":"not_found_error"`},
		{"anthropic", 422, `"type":"invalid_request_error"`},
		{"anthropic", 502, `"type":"api_error"`},
		{"openai", 429, `"code":"rate_limit_exceeded"`},
		{"openai", 400, `"code":null`},
		{"openai", 401, `"code":"invalid_api_key"`},
		{"openai", 502, `"type":"server_error"`},
		{"gemini", 404, `"status":"NOT_FOUND"`},
		{"gemini", 400, `"status":"INVALID_ARGUMENT"`},
		{"gemini", 502, `"code":502`},
		{"", 502, `"error"`},
	} {
		kind, body := ErrorBody(tt.provider, tt.status, message)
		var got struct{ Error struct{ Message string } }
		if err := json.Unmarshal(body, &got); err != nil || got.Error.Message != message || kind != "application/json" {
			t.Errorf("%s %d: %s %s, %v", tt.provider, tt.status, kind, body, err)
		}
		if !strings.Contains(string(body), tt.want) || !strings.Contains(string(body), "<POST>") {
			t.Errorf("%s %d: %s lacks %s", tt.provider, tt.status, body, tt.want)
		}
		if tt.provider != "" && !IsComplete(tt.provider, kind, body) {
			t.Errorf("%s %d: %s does not count as a whole reply", tt.provider, tt.status, body)
		}
	}
}
