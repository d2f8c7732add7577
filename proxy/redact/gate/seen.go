package gate

import (
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Shorter values than minSecret are dummies, or words; from minWholeWord on they are
// looked for as whole words when they hold a digit. Of a long value, the first maxSearched
// bytes are enough.
const (
	minWholeWord = 8
	minSecret    = 12
	maxSearched  = 256
)

func isWorthSearching(secret string) bool {
	return len(secret) >= minSecret || len(secret) >= minWholeWord && strings.ContainsAny(secret, "0123456789")
}

// suspicious are the parts of header and parameter names that mean a secret;
// innocent are the names they would take by mistake.
var (
	suspicious = []string{"auth", "api-key", "apikey", "api_key", "-key", "secret", "passw", "credential",
		"security-token", "access_token", "access-token", "refresh_token", "id_token", "session_token"}
	innocent = []string{"idempotency-key", "websocket-key", "www-authenticate", "cache-key", "public-key",
		"partition-key", "sort-key"}
)

// written removes "author" from names: it is not an authorization.
var written = strings.NewReplacer("authoriz", "auth", "author", "")

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "author") {
		name = written.Replace(name)
	}
	if strings.HasSuffix(name, "arn") || strings.HasSuffix(name, "name") {
		return false // the address of a secret, secretArn, or its name
	}
	if slices.ContainsFunc(innocent, func(part string) bool { return strings.Contains(name, part) }) {
		return false
	}
	return name == "key" || name == "sig" || name == "signature" ||
		slices.ContainsFunc(suspicious, func(part string) bool { return strings.Contains(name, part) })
}

// credentialsOf returns the credentials of an interaction that is not redacted yet. A value
// that somebody can guess stands elsewhere by chance, as the name of a model does.
func (g *Gate) credentialsOf(in cassette.Interaction) []string {
	return slices.DeleteFunc(append(g.secretsOf(in.Request), g.topLevel(in.Response.Body)...), isPredictable)
}

// isPredictable reports whether a value is made of words and numbers: letters, cases and
// digits seldom change inside a word.
func isPredictable(v string) bool {
	changes := 0
	for i := 1; i < len(v); i++ {
		if isAlphanumeric(v[i-1]) && isAlphanumeric(v[i]) && kindOfCharacter(v[i]) != kindOfCharacter(v[i-1]) {
			changes++
		}
	}
	return len(v) < minSecret || changes < 4
}

// kindOfCharacter tells digits, small and capital letters apart. A capital letter before
// small ones begins a word.
func kindOfCharacter(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return 0
	case 'a' <= c && c <= 'z':
		return 1
	}
	return 2
}

// holdsSecret reports whether a value stands under the name of a credential, unless the
// user says that it is none.
func (g *Gate) holdsSecret(name, value string) bool {
	return isSecretName(name) && (g.keeps == nil || !g.keeps(name, value))
}

// secretsOf returns the last word of each credential, which leaves the scheme
// out.
func (g *Gate) secretsOf(r cassette.Request) (out []string) {
	take := func(v string) {
		if words := strings.Fields(v); len(words) > 0 {
			out = append(out, words[len(words)-1])
		}
	}
	takeAll := func(named map[string][]string) {
		for name, values := range named {
			for _, v := range values {
				if g.holdsSecret(name, v) {
					take(v)
				}
			}
		}
	}
	takeAll(r.Header)
	if u, err := url.Parse(r.URL); err == nil {
		takeAll(u.Query())
		if secret, ok := u.User.Password(); ok {
			take(secret)
		}
	}
	if mayBeForm(r) {
		form, _ := url.ParseQuery(string(r.Body))
		takeAll(form)
	}
	return append(out, g.topLevel(r.Body)...) // at any content type: curl -d declares JSON as a form
}

// mayBeForm reports whether a body may be a form: clients omit the type, or
// declare bytes. Prose is not a form, even with a "=" in it.
func mayBeForm(r cassette.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return strings.HasSuffix(kind, "form-urlencoded") ||
		(kind == "" || kind == "application/octet-stream") && len(r.Body) > 0 && len(r.Body) < 64<<10 &&
			r.Body[0] > ' ' && r.Body[0] != '{' && r.Body[0] != '['
}

// topLevel returns the strings under names of secrets at the top level of a JSON
// object.
func (g *Gate) topLevel(body []byte) (out []string) {
	if len(body) == 0 || body[0] != '{' {
		return nil
	}
	name := ""
	for token := range jsonTokens(body) {
		switch {
		case token.depth != 1:
		case token.isName:
			name = unquote(token.text)
		case token.isString() && isSecretName(name) && !continuity[name]:
			if value := unquote(token.text); g.holdsSecret(name, value) {
				out = append(out, value)
			}
		}
	}
	return out
}

// unquote returns the value of a JSON string.
func unquote(quoted []byte) string {
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text)
}
