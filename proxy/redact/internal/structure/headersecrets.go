package structure

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
	"github.com/meerkat-go/conformance/wires"
)

// HeaderSecrets returns the secrets in a request's header, without their
// schemes.
func HeaderSecrets(h http.Header) (out []string) {
	for name, lines := range h {
		lower := strings.ToLower(name)
		for _, v := range lines {
			switch {
			case IsCredentialHeader(lower):
				out = append(append(append(out, values.WithoutScheme(v)), basicPassword(v)...), HeaderWordsOf(v)...)
			case lower == "sec-websocket-protocol":
				out = append(out, protocolSecrets(v)...)
			case AddressHeaders[lower]:
				out = append(out, AddressesIn(v)...)
			case (wires.Words().PayerHeaders[lower] || wires.Words().AccountHeaders[lower]) && isAccountID(v) &&
				!StaysInHeader(lower, v):
				out = append(out, v)
			}
		}
	}
	return out
}

// protocolSecrets returns the credentials among the subprotocols of a WebSocket, where
// browsers must put them: openai-insecure-api-key.KEY.
func protocolSecrets(v string) (out []string) {
	for word := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == ' ' }) {
		if name, secret, ok := strings.Cut(word, "."); ok && names.Classify(name) == names.Strong {
			out = append(out, secret)
		}
	}
	return out
}

// HeaderWordsOf returns the words of a credential that has a scheme of its own:
// "Signature=x", "Bot x", "token=x", "id:x".
func HeaderWordsOf(credential string) (out []string) {
	words := strings.FieldsFunc(credential, func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		return nil
	}
	for _, word := range words {
		_, value, isPair := strings.Cut(word, "=")
		if !isPair || strings.Trim(value, "=") == "" {
			value = word // the end of a base64 text
		}
		if value = strings.Trim(value, `"`); len(value) >= values.MinSecret {
			out = append(out, value)
		}
	}
	return out
}

// LikelyKeys returns the values of unlisted request headers that look like keys,
// by header name.
func LikelyKeys(h http.Header) map[string]string {
	var out map[string]string
	for name, lines := range h {
		lower := strings.ToLower(name)
		if len(lines) == 0 || isKnownClear(lower) || Dropped[lower] || AddressHeaders[lower] ||
			IsCredentialHeader(lower) {
			continue
		}
		if v := lines[0]; names.Classify(lower) == names.Public || !values.LooksLikeKey(v) || StaysInHeader(lower, v) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[lower] = lines[0]
	}
	return out
}

// AddressesIn returns the secrets of the URLs in a header.
func AddressesIn(v string) []string { return SecretsIn([]byte(v), URLsIn([]byte(v))) }

// isAccountID reports whether an account's name is an id. The name of a company
// is not: replacing it in bodies would change ordinary words.
func isAccountID(v string) bool {
	return len(v) >= values.MinSecret && strings.ContainsAny(v, lex.Digits)
}

// basicPassword returns the decoded password of basic authentication, and the
// user when it is a key.
func basicPassword(credential string) []string {
	if len(credential) < 6 || !strings.EqualFold(credential[:6], "Basic ") || values.IsPseudonym(credential[6:]) {
		return nil
	}
	pair, err := base64.StdEncoding.DecodeString(credential[6:])
	if err != nil {
		return nil
	}
	user, secret, _ := strings.Cut(string(pair), ":")
	if secret == "" || values.LooksLikeKey(user) {
		return []string{user, secret}
	}
	return []string{secret}
}
