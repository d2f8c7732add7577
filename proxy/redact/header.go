package redact

import (
	"encoding/base64"
	"net/http"
	"regexp"
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

// credentialHeaders hold secrets that may come back elsewhere.
var credentialHeaders = nameSet(
	"authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-goog-api-key", "x-auth-token",
	"x-goog-iam-authorization-token", "x-amz-security-token", "x-access-token", "x-functions-key",
	"ocp-apim-subscription-key", "x-portkey-api-key", "helicone-auth", "cf-aig-authorization",
)

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

func isClear(name string) bool {
	for _, p := range clearPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return inClear[name]
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
			case credentialHeaders[lower] || !isClear(lower) && isSecretName(lower):
				out = append(append(out, withoutScheme(v)), basicPassword(v)...)
			case accountHeaders[lower] && isAccountID(v):
				out = append(out, v)
			}
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
		if len(values) == 0 || isClear(lower) || dropped[lower] || credentialHeaders[lower] || !looksLikeKey(values[0]) {
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
func answerSecrets(h http.Header) (out []string) {
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, v := range values {
			switch {
			case lower == "location":
				out = append(out, querySecrets(v)...)
			case credentialHeaders[lower] || !isClear(lower) && isSecretName(lower):
				out = append(out, withoutScheme(v))
			}
		}
	}
	return out
}

// isSecretName reports whether an unlisted header has a name like one that holds
// a credential.
func isSecretName(lower string) bool {
	for _, part := range []string{"auth", "token", "secret", "passw", "credential", "api-key", "apikey", "-key", "jwt"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// isAccountID reports whether an account's name is an id. The name of a company
// is not: replacing it in bodies would change ordinary words.
func isAccountID(v string) bool { return len(v) >= minSecret && strings.ContainsAny(v, digits) }

// looksLikeKey reports whether a value under a neutral name has the form of a
// key: one long word of letters and digits that is not a UUID, which identifies
// sessions and requests.
func looksLikeKey(v string) bool {
	return len(v) >= 20 && hasLettersAndDigits(v) && strings.Trim(v, alphabet+"-_.~+/=") == "" && !uuid.MatchString(v)
}

var uuid = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

const digits = "0123456789"

// hasLettersAndDigits reports whether v has letters and digits, as keys do and
// words do not.
func hasLettersAndDigits(v string) bool {
	return strings.ContainsAny(v, digits) && strings.Trim(v, digits+"-_.:+TZ") != ""
}

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
	if looksLikeKey(user) {
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
					out = append(out, strings.Trim(v, `"`))
				}
			}
		}
	}
	return out
}

// cookieAttributes stand beside a cookie and are not secret.
var cookieAttributes = nameSet("expires", "max-age", "domain", "path", "samesite", "priority", "version")
