package redact

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// inClear are the headers whose values are kept, in lower case. All others are
// replaced: an unknown header is more likely a leak than a loss.
var inClear = nameSet(
	"accept", "accept-encoding", "accept-language", "accept-ranges", "age", "allow", "alt-svc",
	"anthropic-beta", "anthropic-dangerous-direct-browser-access", "anthropic-version",
	"cache-control", "cf-cache-status", "cf-ray", "connection",
	"content-disposition", "content-encoding", "content-language", "content-length", "content-security-policy", "content-type",
	"date", "etag", "expect", "expires", "host", "idempotency-key", "keep-alive", "last-modified",
	"openai-beta", "openai-model", "openai-processing-ms", "openai-version",
	"pragma", "request-id", "referrer-policy", "retry-after", "retry-after-ms",
	"sec-fetch-mode", "server", "server-timing", "strict-transport-security",
	"te", "trailer", "transfer-encoding", "traceparent", "traceresponse", "upgrade", "user-agent", "vary", "via", "warning", "www-authenticate",
	"x-app", "x-client-request-id", "x-cloud-trace-context", "x-content-type-options", "x-envoy-decorator-operation",
	"x-envoy-upstream-service-time", "x-frame-options", "x-gemini-service-tier", "x-goog-api-client",
	"x-recorder-error", "x-request-id", "x-robots-tag", "x-server-timeout", "x-should-retry", "x-simulator", "x-xss-protection",
)

// clearPrefixes are families of headers whose values are kept.
var clearPrefixes = []string{"x-stainless-", "anthropic-ratelimit-", "x-ratelimit-", "access-control-"}

// dropped headers are not kept at all: their names and number carry no
// information.
var dropped = nameSet("cookie", "set-cookie", "set-cookie2", "proxy-authorization")

// accountHeaders identify who pays. Their values come back in error messages.
var accountHeaders = nameSet(
	"openai-organization", "openai-project", "anthropic-organization-id", "anthropic-workspace-id",
	"anthropic-user-profile-id", "x-goog-user-project", "chatgpt-account-id",
)

func nameSet(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// isClear reports whether a header's value is kept. A family may have a credential in it:
// x-stainless-api-key.
func isClear(name string) bool {
	if inClear[name] {
		return true
	}
	for _, p := range clearPrefixes {
		if strings.HasPrefix(name, p) {
			return classifyName(name) != strongName
		}
	}
	return false
}

// isCredentialHeader reports whether a header holds a secret that may come back
// elsewhere. name is in lower case.
func isCredentialHeader(name string) bool {
	if isClear(name) {
		return false
	}
	switch classifyName(name) {
	case strongName:
		return true
	case weakName:
		return strings.HasSuffix(name, "key") || strings.HasSuffix(name, "keys") || strings.HasSuffix(name, "auth")
	default:
		return strings.HasSuffix(strings.TrimRight(name, digits+"-"), "signature")
	}
}

// redactHeader returns a redacted copy of h; nil stays nil.
func (r *Redactor) redactHeader(h http.Header, m *matcher) http.Header {
	if h == nil {
		return nil
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		lower := strings.ToLower(name)
		if dropped[lower] {
			continue
		}
		kept := make([]string, len(values))
		for i, v := range values {
			switch {
			case r.own.Keeps(lower, v):
				kept[i] = v
			case r.own.isNamed(lower):
				kept[i] = r.replaceSecret(v)
			case isClear(lower):
				kept[i] = r.redactText(v, m)
			case lower == "location" || lower == "content-location":
				kept[i] = r.redactURL(v, m) // who follows it must get there on replay, too
			default:
				kept[i] = r.replaceSecret(v)
			}
		}
		out[name] = kept
	}
	return out
}

// headerSecrets returns the secrets in a request's header, without their
// schemes.
func headerSecrets(h http.Header) (out []string) {
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, v := range values {
			switch {
			case isCredentialHeader(lower):
				out = append(append(append(out, withoutScheme(v)), basicPassword(v)...), headerWordsOf(v)...)
			case lower == "sec-websocket-protocol":
				out = append(out, protocolSecrets(v)...)
			case accountHeaders[lower] && isAccountID(v):
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
		if name, secret, ok := strings.Cut(word, "."); ok && classifyName(name) == strongName {
			out = append(out, secret)
		}
	}
	return out
}

// headerWordsOf returns the words of a credential that has a scheme of its own:
// "Signature=x", "Bot x", "token=x", "id:x".
func headerWordsOf(credential string) (out []string) {
	words := strings.FieldsFunc(credential, func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		return nil
	}
	for _, word := range words {
		_, value, isPair := strings.Cut(word, "=")
		if !isPair || strings.Trim(value, "=") == "" {
			value = word // the end of a base64 text
		}
		if value = strings.Trim(value, `"`); len(value) >= minSecret {
			out = append(out, value)
		}
	}
	return out
}

// likelyKeys returns the values of unlisted request headers that look like keys,
// by header name.
func likelyKeys(h http.Header) map[string]string {
	var out map[string]string
	for name, values := range h {
		lower := strings.ToLower(name)
		if len(values) == 0 || isClear(lower) || dropped[lower] || isCredentialHeader(lower) || classifyName(lower) == publicName || !looksLikeKey(values[0]) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[lower] = values[0]
	}
	return out
}

// answerSecrets returns the secrets that a response's header or trailer issues.
// Its other values are ids of the provider, which stay in bodies.
func (o *Own) answerSecrets(h http.Header) (out []string) {
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, v := range values {
			switch {
			case lower == "location":
				out = append(out, o.querySecrets(v)...)
			case lower == "link" || lower == "refresh":
				out = append(out, secretsIn([]byte(v), urlsIn([]byte(v)))...)
			case isCredentialHeader(lower):
				out = append(out, slices.DeleteFunc(append(headerWordsOf(v), withoutScheme(v)), func(s string) bool { return !isIssued(s) })...)
			}
		}
	}
	return out
}

// isAccountID reports whether an account's name is an id. The name of a company
// is not: replacing it in bodies would change ordinary words.
func isAccountID(v string) bool { return len(v) >= minSecret && strings.ContainsAny(v, digits) }

// basicPassword returns the decoded password of basic authentication, and the
// user when it is a key.
func basicPassword(credential string) []string {
	if len(credential) < 6 || !strings.EqualFold(credential[:6], "Basic ") || isPseudonym(credential[6:]) {
		return nil
	}
	pair, err := base64.StdEncoding.DecodeString(credential[6:])
	if err != nil {
		return nil
	}
	user, secret, _ := strings.Cut(string(pair), ":")
	if secret == "" || looksLikeKey(user) {
		return []string{user, secret}
	}
	return []string{secret}
}

// cookieValues returns the values of the cookies in h.
func cookieValues(h http.Header) (out []string) {
	for name, lines := range h {
		switch strings.ToLower(name) {
		case "cookie", "set-cookie", "set-cookie2":
		default:
			continue
		}
		for _, line := range lines {
			for part := range strings.SplitSeq(line, ";") {
				if key, v, ok := strings.Cut(strings.TrimSpace(part), "="); ok && !cookieAttributes[strings.ToLower(key)] {
					out = append(append(out, strings.Trim(v, `"`)), signedCookie(v)...)
				}
			}
		}
	}
	return out
}

// signedCookie returns the value of a cookie that says that it is signed, s%3AVALUE.
func signedCookie(v string) []string {
	if plain, err := url.QueryUnescape(v); err == nil && strings.HasPrefix(plain, "s:") {
		return []string{plain[len("s:"):]}
	}
	return nil
}

// cookieAttributes stand beside a cookie and are not secret.
var cookieAttributes = nameSet("expires", "max-age", "domain", "path", "samesite", "priority", "version")
