package redact

import (
	"net/url"
	"strings"
)

// credentialParams are the parameters of a query or a form that hold secrets.
var credentialParams = nameSet(
	"key", "api_key", "api-key", "apikey", "x-api-key", "subscription-key", "access_token", "id_token", "refresh_token",
	"session_token", "token", "jwt", "auth", "auth_token", "authorization", "client_secret", "client_assertion", "assertion",
	"code", "code_verifier", "device_code", "password", "passwd", "pwd", "secret", "private_key", "sig", "signature",
	"x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential",
)

// redactURL replaces user info, credential parameters, and secrets anywhere
// else. It works on the text, because parsing and printing a URL may change it.
func (r *Redactor) redactURL(raw string, m *matcher) string {
	for _, s := range urlSecrets(raw) {
		raw = raw[:s.start] + r.replaceSecret(raw[s.start:s.end]) + raw[s.end:]
	}
	return r.redactText(raw, m)
}

// querySecrets returns the secrets of a URL, unescaped.
func querySecrets(raw string) (out []string) {
	for _, s := range urlSecrets(raw) {
		text := raw[s.start:s.end]
		if plain, err := url.QueryUnescape(text); err == nil {
			text = plain
		}
		out = append(out, text)
		if _, password, ok := strings.Cut(text, ":"); ok && s.start > 0 && strings.HasSuffix(raw[:s.start], "://") {
			out = append(out, password)
		}
	}
	return out
}

// urlSecrets finds the secrets in a URL's text: user info, and the parameters of
// its query and fragment.
func urlSecrets(raw string) (out []span) {
	if s, ok := userInfo(raw); ok {
		out = append(out, s)
	}
	if at := strings.IndexAny(raw, "?#"); at >= 0 {
		out = pairSecrets(raw, at+1, out, credentialParams)
	}
	return out
}

// pairSecrets appends the values of the pairs in raw, from at, whose names are
// in one of lists.
func pairSecrets(raw string, at int, out []span, lists ...map[string]bool) []span {
	for at < len(raw) {
		end := len(raw)
		if n := strings.IndexAny(raw[at:], "&#?"); n >= 0 {
			end = at + n
		}
		name, value, _ := strings.Cut(raw[at:end], "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		for _, list := range lists {
			if value != "" && list[strings.ToLower(name)] {
				out = append(out, span{end - len(value), end})
				break
			}
		}
		at = end + 1
	}
	return out
}

// userInfo finds the "user:password" of a URL.
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
