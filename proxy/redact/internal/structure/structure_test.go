package structure

import (
	"net/http"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	_ "github.com/meerkat-go/conformance/wires/all"
)

func texts(b string, spans []lex.Span) (out []string) {
	for _, s := range spans {
		out = append(out, string(s.In([]byte(b))))
	}
	slices.Sort(out)
	return out
}

func TestURLSecrets(t *testing.T) {
	for raw, want := range map[string][]string{
		"https://h/v1/messages?beta=true":                                {},
		"https://ann:p%40ss9@h/":                                         {"p%40ss9"},
		"https://h/?key=q7Rk2ZxV9mWp&page=2#access_token=x1":             {"q7Rk2ZxV9mWp", "x1"},
		"https://api.telegram.org/bot1234567890:AAq7Rk2ZxV9mWp4TnB8cLdq": {"1234567890:AAq7Rk2ZxV9mWp4TnB8cLdq"},
		"https://h/reset-password/q7Rk2ZxV9mWp4TnB8cLd":                  {"q7Rk2ZxV9mWp4TnB8cLd"},
		"https://h/?next=https%3A%2F%2Fx%2F%3Ftoken%3Dq7Rk2ZxV9mWp4TnB":  {"q7Rk2ZxV9mWp4TnB"},
		"https://h/?token=${TOKEN}":                                      {},
	} {
		if got := texts(raw, URLSecrets(raw)); !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// What a name means depends on what its object is for, and on who sent the body.
func TestSearchJSON(t *testing.T) {
	for _, c := range []struct {
		body    string
		isReply bool
		found   []string
		said    []string
	}{
		{body: `{"api_key":"plain"}`, found: []string{"plain"}},
		{body: `{"api_key":"plain"}`, isReply: true},
		{body: `{"headers":{"X-Own":"q7Rk2ZxV9mWp4TnB8cLd"}}`, found: []string{"q7Rk2ZxV9mWp4TnB8cLd"}},
		{body: `{"messages":[{"input":{"password":"plain"}}]}`},
		{body: `{"messages":[{"input":{"password":"tr0ub4dor&3xyz"}}]}`, said: []string{"tr0ub4dor&3xyz"}},
		{body: `{"name":"X-Key","value":"q7Rk2ZxV9mWp4TnB8cLd"}`, found: []string{"q7Rk2ZxV9mWp4TnB8cLd"}},
		{body: `{"client_secret":{"value":"q7Rk2ZxV9mWp"}}`, isReply: true, found: []string{"q7Rk2ZxV9mWp"}},
		{body: `{"args":["--token","plain","-v"]}`, found: []string{"plain"}},
		{body: `{"config":"{\"password\":\"plain\"}"}`, found: []string{"plain"}},
	} {
		f := searchJSON([]byte(c.body), c.isReply, false)
		if got := texts(c.body, f.Credentials); !slices.Equal(got, c.found) {
			t.Errorf("%s: %q, want %q", c.body, got, c.found)
		}
		if got := texts(c.body, f.Said); !slices.Equal(got, c.said) {
			t.Errorf("%s: said %q, want %q", c.body, got, c.said)
		}
	}
}

// The body says itself what it is.
func TestRequest(t *testing.T) {
	for body, want := range map[string][]string{
		"grant_type=x&client_secret=plain":                        {"plain"},
		`{"client_secret":"plain"}`:                               {"plain"},
		"<Response><SessionToken>plain</SessionToken></Response>": {"plain"},
		"just some words":                                         nil,
	} {
		if got := texts(body, Request(cassette.Request{Header: http.Header{}, Body: []byte(body)},
			jsonscan.NewIndex([]byte(body))).Credentials); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestStaysInHeader(t *testing.T) {
	for line, want := range map[[2]string]bool{
		{"content-type", "application/json"}: true, {"x-stainless-lang", "go"}: true,
		{"x-stainless-api-key", "go"}:  false,
		{"x-model", "claude-opus-4-5"}: true, {"x-session-id", "9d1c250a-e61b-44d9-88ed-5944d1962f5e"}: false,
		{"x-page", "17"}:                   true,
		{"openai-organization", "org-abc"}: true, {"openai-organization", "q7Rk2ZxV9mWp4TnB8cLd"}: false,
		{"x-forwarded-for", "10.0.0.1"}:                     false,
		{"x-rapidapi-host", "openai-mirror.p.rapidapi.com"}: true, {"x-rapidapi-host", "q7Rk2ZxV9mWp4TnB8cLd"}: false,
		{"x-forwarded-host", "ann.example"}: false,
	} {
		if got := StaysInHeader(line[0], line[1]); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
