package redact

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// inClear are the headers whose values are kept, in lower case. Of others, staysInHeader decides.
var inClear = nameSet(
	"accept", "accept-encoding", "accept-language", "accept-ranges", "age", "allow", "alt-svc",
	"anthropic-beta", "anthropic-dangerous-direct-browser-access", "anthropic-version", "azureml-model-session",
	"cache-control", "cf-cache-status", "cf-ray", "connection", "conversation_id",
	"content-disposition", "content-encoding", "content-language", "content-length", "content-security-policy", "content-type",
	"date", "etag", "expect", "expires", "host", "helicone-session-id", "idempotency-key", "if-match", "if-modified-since", "if-none-match", "if-range", "keep-alive", "last-modified",
	"openai-beta", "openai-model", "originator", "openai-processing-ms", "openai-version",
	"pragma", "request-id", "referrer-policy", "retry-after", "retry-after-ms",
	"sec-fetch-mode", "server", "server-timing", "session_id", "strict-transport-security",
	"te", "trailer", "transfer-encoding", "traceparent", "traceresponse", "upgrade", "user-agent", "vary", "via", "warning", "www-authenticate",
	"x-amz-id-2", "x-amzn-requestid", "x-amzn-trace-id", "x-app", "x-claude-code-session-id", "x-client-request-id", "x-cloud-trace-context", "x-codex-turn-metadata", "x-content-type-options", "x-envoy-decorator-operation",
	"x-envoy-upstream-service-time", "x-frame-options", "x-gemini-service-tier", "x-goog-api-client", "x-goog-request-params", "x-goog-user-project", "x-ms-client-request-id",
	"x-recorder-error", "x-request-id", "x-robots-tag", "x-server-timeout", "x-should-retry", "x-simulator", "x-xss-protection",
)

// clearPrefixes are families of headers whose values are kept.
var clearPrefixes = []string{"x-stainless-", "anthropic-ratelimit-", "x-ratelimit-", "access-control-"}

// dropped headers are not kept at all: their names and number carry no
// information.
var dropped = nameSet("cookie", "set-cookie", "set-cookie2", "proxy-authorization")

// accountHeaders identify who pays. Their values come back in error messages.
var accountHeaders = nameSet("chatgpt-account-id", "anthropic-user-profile-id")

// addressHeaders lead to another place. A client that follows one must get there on replay, too.
var addressHeaders = nameSet("location", "content-location", "link", "refresh", "referer", "origin")

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

// staysInHeader reports whether the value of a header is kept: the header is known to be
// harmless, names an id, a model or a version, or holds words and numbers. All others are
// replaced: what looks random under an unknown name is more likely a leak than a loss.
func staysInHeader(name, v string) bool {
	switch {
	case inClear[name]:
		return true
	case isClear(name):
		return classifyName(name) != weakName || !looksLikeKey(v)
	case accounts[name]:
		return issuedAccount.MatchString(v)
	case isCredentialHeader(name) || personal.MatchString(name) || accountHeaders[name]:
		return false
	case classifyName(name) == publicName && !sensitive.MatchString(name):
		return true
	}
	if classifyName(name) == weakName {
		return strings.HasSuffix(name, "tokens") && len(v) < minWord && strings.Trim(v, digits) == ""
	}
	return languageTag.MatchString(v) || len(v) <= 64 && !hasEntropy(v) && !strings.Contains(v, "@")
}

var (
	// accounts are headers whose value is the id of an organization or project, which is not secret.
	accounts = nameSet("openai-organization", "openai-project", "anthropic-organization-id", "anthropic-workspace-id")
	// issuedAccount matches such an id.
	issuedAccount = regexp.MustCompile(`^(?:(?:org|proj|wrkspc)[-_]\w+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]+(?:-[a-z]+)*)$`)
	// languageTag matches a language and the country in which it is spoken: de-CH.
	languageTag = regexp.MustCompile(`^[a-z]{2,3}-[A-Z]{2}$`)
	// personal matches headers that say who somebody is, or where.
	personal = regexp.MustCompile(`user|email|login|forwarded|remote|client|\bip\b|\bfrom\b`)
	// sensitive matches the names of ids that open something.
	sensitive = regexp.MustCompile(`session|auth|secret|token(?:[^i]|i[^z]|$)|key|pass`)
)

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
			case addressHeaders[lower]:
				kept[i] = r.redactAddresses(v, m)
			case staysInHeader(lower, v):
				kept[i] = r.redactText(v, m)
			default:
				kept[i] = r.replaceSecret(v)
			}
		}
		out[name] = kept
	}
	return out
}

// redactAddresses redacts a header that is a URL, or has some in it.
func (r *Redactor) redactAddresses(v string, m *matcher) string {
	if strings.HasPrefix(v, "<") || strings.Contains(v, " ") {
		for _, s := range urlsIn([]byte(v)) {
			v = v[:s.start] + r.replaceSecret(v[s.start:s.end]) + v[s.end:]
		}
		return r.redactText(v, m)
	}
	return r.redactURL(v, m)
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
			case addressHeaders[lower]:
				out = append(out, addressesIn(v)...)
			case (accountHeaders[lower] || accounts[lower]) && isAccountID(v) && !staysInHeader(lower, v):
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
		if len(values) == 0 || inClear[lower] || dropped[lower] || isCredentialHeader(lower) || classifyName(lower) == publicName || !looksLikeKey(values[0]) || staysInHeader(lower, values[0]) || addressHeaders[lower] {
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
			case addressHeaders[lower]:
				out = append(out, addressesIn(v)...)
			case isCredentialHeader(lower):
				out = append(out, slices.DeleteFunc(append(headerWordsOf(v), withoutScheme(v)), func(s string) bool { return !isIssued(s) })...)
			}
		}
	}
	return out
}

// addressesIn returns the secrets of the URLs in a header.
func addressesIn(v string) []string { return secretsIn([]byte(v), urlsIn([]byte(v))) }

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
