package values

import (
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// publicID matches what a provider issues beside a credential and is none: the id of a client of
// Google's OAuth and of what Twilio has, and the keys of Stripe, Mapbox and PostHog that stand in pages.
var publicID = regexp.MustCompile(`^(?:[\w-]+\.apps\.googleusercontent\.com|pk_(?:live|test)_[A-Za-z0-9]+|pk\.eyJ[\w-]+\.[\w-]+|phc_[A-Za-z0-9]+|(?:AC|SK|SM|MM|CA|PN|MG|VA|IS|CH|RE|WS)[0-9a-f]{32})$`)

// isPublicID reports whether a value is such an id.
func isPublicID(v string) bool {
	return (len(v) == len("AC")+32 || v[len(v)-1] == 'm' || v[0] == 'p') && publicID.MatchString(v)
}

// IsKeyID reports whether a value is the id or the fingerprint of a key of PGP, which git names under
// user.signingkey.
func IsKeyID(name, v []byte) bool {
	return lex.HasSuffixFold(name, "signingkey") && keyID.Match(v)
}

var keyID = regexp.MustCompile(`^(?:0x)?[0-9A-F]{8}(?:[0-9A-F]{8}|[0-9A-F]{32})?!?$`)
