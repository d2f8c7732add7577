package redact

import (
	"net/url"
	"strings"
)

// credentialParams are the query parameters that hold secrets.
var credentialParams = set(
	"key", "api_key", "api-key", "apikey", "access_token", "id_token", "refresh_token", "auth", "auth_token",
	"authorization", "client_secret", "password", "secret", "sig", "signature", "x-amz-signature", "x-amz-security-token",
	"x-goog-signature",
)

// url redacts user info and credential parameters, and secrets anywhere else.
// It works on the text, because parsing and printing a URL may change it.
func (r *Redactor) url(raw string, m *matcher) string {
	for _, s := range urlSecrets(raw) {
		raw = raw[:s.start] + r.replace(raw[s.start:s.end]) + raw[s.end:]
	}
	return r.text(raw, m)
}

// querySecrets returns the secrets of a URL, unescaped.
func querySecrets(raw string) (out []string) {
	for _, s := range urlSecrets(raw) {
		text := raw[s.start:s.end]
		if plain, err := url.QueryUnescape(text); err == nil {
			text = plain
		}
		out = append(out, text)
	}
	return out
}

// span is a piece of a text.
type span struct{ start, end int }

// urlSecrets finds the secrets in a URL's text.
func urlSecrets(raw string) (out []span) {
	if s, ok := userInfo(raw); ok {
		out = append(out, s)
	}
	at := strings.IndexByte(raw, '?') + 1
	if at == 0 {
		return out
	}
	query, _, _ := strings.Cut(raw[at:], "#")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if credentialParams[strings.ToLower(name)] && value != "" {
			out = append(out, span{at + len(pair) - len(value), at + len(pair)})
		}
		at += len(pair) + 1
	}
	return out
}

// userInfo finds the "user:password" of an authority.
func userInfo(raw string) (span, bool) {
	start := strings.Index(raw, "://") + len("://")
	if start < len("://") {
		return span{}, false
	}
	authority := raw[start:]
	if n := strings.IndexAny(authority, "/?#"); n >= 0 {
		authority = authority[:n]
	}
	at := strings.LastIndexByte(authority, '@')
	return span{start, start + at}, at > 0
}
