package recorder

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func TestPlanOf(t *testing.T) {
	ask := func(url, body string, status int) cassette.Interaction {
		return cassette.Interaction{Request: cassette.Request{Method: "POST", URL: url, Body: []byte(body)},
			Response: cassette.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}},
				Body: []byte(`{"usage":{"input_tokens":30,"output_tokens":10}}`)}}
	}
	const messages = "https://api.anthropic.com/v1/messages"
	list := []cassette.Interaction{
		ask(messages, `{"max_tokens":99,"n":1}`, 200),
		ask(messages, `{"max_tokens":99,"n":1}`, 200),
		ask(messages+"/batches", `{}`, 200),
		ask(messages, `{"mcp":"REDACTEDabcdefgh12"}`, 200),
		ask(messages, `{"n":2}`, 0),
		ask(messages, `{"n":3}`, 529),
		ask("https://api.openai.com/v1/responses", `{"previous_response_id":"resp_1"}`, 200),
		ask(messages+"/count_tokens", `{}`, 200),
		ask("https://evil.example/v1/messages", `{}`, 200),
		ask(messages, `{"n":4}`, 400),
		ask(messages, `{"n":5}`, 200),
		ask(messages, `{"n":6}`, 200),
	}
	p := planResend(list, budget{requests: 4, tokens: 100}, func(r cassette.Request) string {
		return withheldReason(r, map[string]string{"anthropic": "k", "openai": "k"}, nil)
	})
	var sent []int
	for _, task := range p.send {
		sent = append(sent, task.Interaction)
	}
	got, _ := json.Marshal(map[string]any{"sent": sent, "tokens": p.totalTokens(), "skipped": p.skip})
	want := `{"sent":[0,7,9],"skipped":[` +
		`{"interaction":1,"reason":"the same request as #0"},` +
		`{"interaction":2,"reason":"asks for no reply of a model"},` +
		`{"interaction":3,"reason":"its body holds a redacted secret"},` +
		`{"interaction":4,"reason":"has no reply to compare with"},` +
		`{"interaction":5,"reason":"was answered with 529"},` +
		`{"interaction":6,"reason":"refers to a reply that the provider stored"},` +
		`{"interaction":8,"reason":"evil.example takes none of the keys; name a server with --upstream anthropic=URL"},` +
		`{"interaction":10,"reason":"about 40 tokens, beyond --max-tokens 100"},` +
		`{"interaction":11,"reason":"about 40 tokens, beyond --max-tokens 100"}],"tokens":80}`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if p := planResend(list, budget{requests: 1, tokens: 100}, func(cassette.Request) string { return "" }); len(p.send) != 1 {
		t.Errorf("%d sent with --max-requests 1", len(p.send))
	}
}

// A cassette is a file that anybody may have written: its URLs do not decide
// where a key goes.
func TestKeysGoToTheirProvidersOnly(t *testing.T) {
	keys := map[string]string{"anthropic": "k", "gemini": "k"}
	for url, want := range map[string]bool{
		"https://api.anthropic.com/v1/messages":                                                 true,
		"http://api.anthropic.com/v1/messages":                                                  false,
		"https://api.anthropic.com:8443/v1/messages":                                            false,
		"https://api.anthropic.com.evil.example/v1/messages":                                    false,
		"https://user@evil.example/v1/messages":                                                 false,
		"https://evil.example/api.anthropic.com/v1/messages":                                    false,
		"https://us-east5-aiplatform.googleapis.com/publishers/google/models/m:generateContent": false,
		"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent":             true,
		"https://api.openai.com/v1/responses":                                                   false, // no key
		"https://example.com/":                                                                  false,
		"::":                                                                                    false,
	} {
		r := cassette.Request{Method: "POST", URL: url}
		if got := withheldReason(r, keys, nil) == ""; got != want {
			t.Errorf("%s: sent is %v", url, got)
		}
	}
	if why := withheldReason(cassette.Request{URL: "http://127.0.0.1:1/v1/messages"}, nil,
		map[string]string{"anthropic": "http://x"}); why != "" {
		t.Error(why)
	}
	for base, want := range map[string]bool{"http://127.0.0.1:9": true, "http://localhost:9": true,
		"https://gateway.example": true, "http://gateway.example": false} {
		err := checkUpstreamsEncrypted(map[string]string{"anthropic": base}, keys)
		if (err == nil) != want {
			t.Errorf("%s: %v", base, err)
		}
	}
	if err := checkUpstreamsEncrypted(map[string]string{"openai": "http://gateway.example"}, keys); err != nil {
		t.Errorf("without a key: %v", err)
	}
}

// What is sent is the recorded request: its body as it is, the headers and
// parameters that choose a reply, and the key in its provider's place.
func TestSenderSendsTheRequest(t *testing.T) {
	for _, tt := range []struct{ url, header, want string }{
		{"https://api.anthropic.com/v1/messages?beta=true&x=1", "X-Api-Key", "k"},
		{"https://api.openai.com/v1/responses", "Authorization", "Bearer k"},
		{"https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse&key=REDACTEDabcdefgh12", "X-Goog-Api-Key", "k"},
	} {
		s := &sender{keys: map[string]string{"anthropic": "k", "openai": "k", "gemini": "k"}, now: time.Now}
		recorded := cassette.Request{Method: "POST", URL: tt.url, Body: []byte(`{"a": 1}`), Header: http.Header{
			"Content-Type": {"application/json"}, "Anthropic-Beta": {"b"}, "Cookie": {"c"}, "X-Api-Key": {"REDACTED"},
			"Host": {"h"}}}
		r, err := s.newRequest(context.Background(), recorded)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get(tt.header) != tt.want || string(body) != `{"a": 1}` || r.Header.Get("Cookie") != "" ||
			r.Header.Get("Anthropic-Beta") != "b" ||
			r.Header.Get("Accept-Encoding") != "identity" || strings.Contains(r.URL.RawQuery, "key") ||
			strings.Contains(r.URL.RawQuery, "x=") {
			t.Errorf("%s %v %s", r.URL, r.Header, body)
		}
		if strings.Contains(tt.url, "alt=sse") != (r.URL.RawQuery == "alt=sse") ||
			strings.Contains(tt.url, "beta=") != (r.URL.RawQuery == "beta=true") {
			t.Errorf("%s: %s", tt.url, r.URL)
		}
	}
}
