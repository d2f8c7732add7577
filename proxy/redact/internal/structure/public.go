package structure

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
)

// PublicInHeader returns the public words in a header.
func PublicInHeader(h http.Header) (out []string) {
	for name, lines := range h {
		if len(lines) > 0 && names.Classify(name) == names.Public && len(lines[0]) <= 200 {
			out = append(out, lines[0])
		}
	}
	return out
}

// PublicInURL returns the names of models and deployments in a URL.
func PublicInURL(raw string) (out []string) {
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

// IssuesSecrets reports whether a request goes to an endpoint that hands out credentials.
func IssuesSecrets(in cassette.Request) bool {
	u, err := url.Parse(in.URL)
	if err != nil {
		return false
	}
	for part := range strings.FieldsFuncSeq(strings.ToLower(u.Path),
		func(r rune) bool { return strings.ContainsRune("/:._-", r) }) {
		if issuers[part] {
			return true
		}
	}
	return false
}

// issuers are the words in the paths of endpoints that hand out credentials.
var issuers = lex.Set(
	"token tokens accesstoken generateaccesstoken generateidtoken oauth oauth2 sts",
	"secret secrets keys apikeys listkeys regeneratekey credentials passwords",
	"auth login signin session",
)
