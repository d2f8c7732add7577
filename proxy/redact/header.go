package redact

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// inClear are the headers whose values are kept, in lower case. Everything else
// is replaced: a header nobody thought of is more likely a leak than a loss.
var inClear = set(
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
	"x-request-id", "x-robots-tag", "x-server-timeout", "x-should-retry", "x-xss-protection",
)

// clearPrefixes are families of such headers.
var clearPrefixes = []string{"x-stainless-", "anthropic-ratelimit-", "x-ratelimit-", "access-control-"}

// dropped headers are not kept at all: their names and number say nothing.
var dropped = set("cookie", "set-cookie", "set-cookie2", "proxy-authorization")

// credentialHeaders hold secrets that may come back elsewhere.
var credentialHeaders = set(
	"authorization", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-goog-api-key", "x-auth-token",
	"x-goog-iam-authorization-token", "x-amz-security-token", "x-access-token", "x-functions-key",
	"ocp-apim-subscription-key", "x-portkey-api-key", "helicone-auth", "cf-aig-authorization",
)

// accountHeaders name who pays. Their values come back in error messages.
var accountHeaders = set(
	"openai-organization", "openai-project", "anthropic-organization-id", "anthropic-workspace-id",
	"anthropic-user-profile-id", "x-goog-user-project", "chatgpt-account-id",
)

func set(names ...string) map[string]bool {
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

// header returns a redacted copy of h; nil stays nil.
func (r *Redactor) header(h http.Header, m *matcher) http.Header {
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
			if isClear(lower) {
				kept[i] = r.text(v, m)
			} else {
				kept[i] = r.replace(v)
			}
		}
		out[name] = kept
	}
	return out
}

// headerSecrets returns the secrets that h holds, schemes removed.
func headerSecrets(h http.Header) (out []string) {
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, v := range values {
			switch {
			case credentialHeaders[lower]:
				out = append(append(out, token(v)), password(v)...)
			case accountHeaders[lower] && identifies(v):
				out = append(out, v)
			}
		}
	}
	return out
}

// identifies reports whether an account's name is an id. A company's name is
// not: replacing it in bodies would change ordinary words.
func identifies(v string) bool { return len(v) >= 16 && strings.ContainsAny(v, "0123456789") }

// password returns the decoded password of basic authentication.
func password(credential string) []string {
	if len(credential) < 6 || !strings.EqualFold(credential[:6], "Basic ") {
		return nil
	}
	pair, err := base64.StdEncoding.DecodeString(credential[6:])
	if err != nil {
		return nil
	}
	_, secret, _ := strings.Cut(string(pair), ":")
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

// cookieAttributes stand beside a cookie and are no secret.
var cookieAttributes = set("expires", "max-age", "domain", "path", "samesite", "priority", "version")
