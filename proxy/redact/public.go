package redact

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// publicWords are the words of the exchange that are no secrets: names of models, ids
// that the provider issued. They are never looked for as secrets.
type publicWords map[string]bool

// maxWords bounds what is remembered. A recording with more ids forgets the oldest at once.
const maxWords = 1 << 16

func (p publicWords) add(words []string) {
	for _, w := range words {
		if len(p) >= maxWords {
			clear(p)
		}
		p[w] = true
	}
}

// has reports whether a value is public. An id is as random as a key: a key that was sent
// as one, which isSure says, stays a secret.
func (p publicWords) has(v string, isSure bool) bool {
	return p[v] && (!isSure || !looksLikeKey(v))
}

// headerWords returns the public words in a header.
func headerWords(h http.Header) (out []string) {
	for name, values := range h {
		if len(values) > 0 && classifyName(name) == publicName && len(values[0]) <= 200 {
			out = append(out, values[0])
		}
	}
	return out
}

// urlWords returns the names of models and deployments in a URL.
func urlWords(raw string) (out []string) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	parts := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == ':' })
	for i := 1; i < len(parts); i++ {
		if parts[i-1] == "models" || parts[i-1] == "deployments" {
			out = append(out, parts[i])
		}
	}
	return out
}

// issuesSecrets reports whether a request goes to an endpoint that hands out credentials.
func issuesSecrets(in cassette.Request) bool {
	u, err := url.Parse(in.URL)
	if err != nil {
		return false
	}
	for part := range strings.FieldsFuncSeq(strings.ToLower(u.Path), func(r rune) bool { return strings.ContainsRune("/:._-", r) }) {
		if issuers[part] {
			return true
		}
	}
	return false
}

// issuers are the words in the paths of endpoints that hand out credentials.
var issuers = nameSet("token", "tokens", "secrets", "secret", "oauth", "oauth2", "keys", "apikeys", "listkeys", "credentials",
	"login", "signin", "auth", "sts", "generateaccesstoken", "generateidtoken", "accesstoken", "regeneratekey", "session", "passwords")
