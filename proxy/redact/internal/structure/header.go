package structure

import (
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
	"github.com/meerkat-go/conformance/wires"
)

// inClear are the headers whose values are kept, in lower case, beside those that the wires name. Of others,
// [StaysInHeader] decides.
var inClear = lex.Set(
	// content and its negotiation
	"accept accept-encoding accept-language accept-ranges content-disposition content-encoding content-language content-length",
	"content-type expect te trailer transfer-encoding vary",
	// caches
	"age cache-control date etag expires if-match if-modified-since if-none-match if-range last-modified pragma warning",
	// connections and servers
	"allow alt-svc cf-cache-status cf-ray connection host keep-alive server server-timing upgrade user-agent via",
	"x-envoy-decorator-operation x-envoy-upstream-service-time x-server-timeout",
	// what browsers are told
	"content-security-policy referrer-policy sec-fetch-mode strict-transport-security www-authenticate x-content-type-options",
	"x-frame-options x-robots-tag x-xss-protection",
	// ids of requests and conversations
	"helicone-session-id idempotency-key traceparent traceresponse x-amz-id-2 x-amzn-requestid x-amzn-trace-id x-client-request-id",
	"x-request-id",
	// when to try again
	"retry-after retry-after-ms x-should-retry",
	// our own
	"x-recorder-error x-simulator",
)

// clearPrefixes are families of headers whose values are kept.
var clearPrefixes = []string{"x-stainless-", "x-ratelimit-", "access-control-"}

// Dropped headers are not kept at all: their names and number carry no
// information.
var Dropped = lex.Set("cookie set-cookie set-cookie2 proxy-authorization")

// AddressHeaders lead to another place. A client that follows one must get there on replay, too.
var AddressHeaders = lex.Set("location content-location link refresh referer http-referer origin")

var (
	// issuedAccount matches the id of an organization or project, which is not secret.
	issuedAccount = regexp.MustCompile(`^(?:(?:org|proj|wrkspc)[-_]\w+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]+(?:-[a-z]+)*)$`)
	// languageTag matches a language and the country in which it is spoken: de-CH.
	languageTag = regexp.MustCompile(`^[a-z]{2,3}-[A-Z]{2}$`)
	// hostName matches the name of a host on the Internet.
	hostName = regexp.MustCompile(`^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}$`)
	// personal matches headers that say who somebody is, or where.
	personal = regexp.MustCompile(`user|email|login|forwarded|remote|client|\bip\b|\bfrom\b`)
	// sensitive matches the names of ids that open something.
	sensitive = regexp.MustCompile(`session|auth|secret|token(?:[^i]|i[^z]|$)|key|pass`)
)

// isClear reports whether a header's value is kept. A family may have a credential in it:
// x-stainless-api-key.
func isClear(name string) bool {
	if isKnownClear(name) {
		return true
	}
	for _, p := range slices.Concat(clearPrefixes, wires.Words().ClearPrefixes) {
		if strings.HasPrefix(name, p) {
			return names.Classify(name) != names.Strong
		}
	}
	return false
}

// isKnownClear reports whether a header is known to be harmless by its name.
func isKnownClear(name string) bool { return inClear[name] || wires.Words().ClearHeaders[name] }

// IsCredentialHeader reports whether a header holds a secret that may come back
// elsewhere. name is in lower case.
func IsCredentialHeader(name string) bool {
	if isClear(name) {
		return false
	}
	switch names.Classify(name) {
	case names.Strong:
		return true
	case names.Weak:
		return strings.HasSuffix(name, "key") || strings.HasSuffix(name, "keys") ||
			strings.HasSuffix(name, "auth") || strings.HasSuffix(name, "bypass")
	default:
		return strings.HasSuffix(strings.TrimRight(name, lex.Digits+"-"), "signature")
	}
}

// isHarmlessID reports whether a header holds an id that gives no access and names no person: x-trace-id.
func isHarmlessID(name string) bool {
	return strings.HasSuffix(name, "-id") && !sensitive.MatchString(name) && !personal.MatchString(name)
}

// StaysInHeader reports whether the value of a header is kept: the header is known to be
// harmless, names an id, a model or a version, or holds words and numbers. All others are
// replaced: what looks random under an unknown name is more likely a leak than a loss.
func StaysInHeader(name, v string) bool {
	switch {
	case isKnownClear(name):
		return true
	case isClear(name):
		return names.Classify(name) != names.Weak || !values.LooksLikeKey(v)
	case wires.Words().AccountHeaders[name]:
		return issuedAccount.MatchString(v)
	case IsCredentialHeader(name) || personal.MatchString(name) || wires.Words().PayerHeaders[name]:
		return false
	case names.Classify(name) == names.Public && !sensitive.MatchString(name):
		return true
	}
	return isHarmlessValue(name, v)
}

// isHarmlessValue reports whether the value of an unknown header is kept.
func isHarmlessValue(name, v string) bool {
	if names.Classify(name) == names.Weak {
		return strings.HasSuffix(name, "tokens") && len(v) < values.MinWord && strings.Trim(v, lex.Digits) == ""
	}
	return languageTag.MatchString(v) || strings.HasSuffix(name, "-host") && hostName.MatchString(v) ||
		len(v) <= 64 && !values.HasEntropy(v) && !strings.Contains(v, "@")
}
