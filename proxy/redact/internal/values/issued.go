package values

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// issuedForm is how the credentials of an issuer begin, which signs they have beside letters and
// digits, and how many characters follow at least.
type issuedForm struct {
	prefix, signs string
	least         int
}

// issuedForms are the forms of short-lived tokens that commands print. Such a token is recognised
// without a name beside it. Long-lived keys that people paste into a prompt are left to the gate,
// which tells them.
var issuedForms = []issuedForm{
	{"ya29.", "-_.", 20},               // gcloud auth print-access-token
	{"gho_", "", 30},                   // gh auth token
	{"ghs_", "", 30},                   // of a run of GitHub Actions
	{"eyJwYXlsb2FkIjoi", "+/=-_", 100}, // aws ecr get-login-password
}

// IssuedLength returns the length of the credential that a text begins with, if its form alone shows
// that it is one; 0 otherwise.
func IssuedLength(text []byte) int {
	for _, form := range issuedForms {
		if n := form.length(text); n > 0 {
			return n
		}
	}
	return len(signedTokenAt.Find(text[:min(len(text), MaxLength)]))
}

// signedTokenAt matches a signed token (JWT) that a text begins with.
var signedTokenAt = regexp.MustCompile(strings.TrimSuffix(signedToken.String(), "$"))

// length returns the length of the credential of this form that a text begins with, 0 for none. A
// credential has digits in several places; a placeholder does not.
func (f issuedForm) length(text []byte) int {
	if !bytes.HasPrefix(text, []byte(f.prefix)) {
		return 0
	}
	end := len(f.prefix)
	for end < min(len(text), MaxLength) && (lex.IsAlphanumericAt(text, end) || strings.IndexByte(f.signs, text[end]) >= 0) {
		end++
	}
	for text[end-1] == '.' || text[end-1] == '-' {
		end-- // of the sentence
	}
	rest := string(text[min(len(f.prefix), end):end])
	if len(rest) < f.least || digitGroups(rest) < 2 || GuessBits(rest) < leastBits {
		return 0
	}
	return end
}

// publicID matches what a provider issues beside a credential and is none: the id of a client of
// Google's OAuth and of what Twilio has, and the keys of Stripe, Mapbox and PostHog that stand in pages.
var publicID = regexp.MustCompile(`^(?:[\w-]+\.apps\.googleusercontent\.com|pk_(?:live|test)_[A-Za-z0-9]+|pk\.eyJ[\w-]+\.[\w-]+|phc_[A-Za-z0-9]+|(?:AC|SK|SM|MM|CA|PN|MG|VA|IS|CH|RE|WS)[0-9a-f]{32})$`)

// isPublicID reports whether a value is such an id.
func isPublicID(v string) bool {
	return (len(v) == len("AC")+32 || v[len(v)-1] == 'm' || v[0] == 'p') && publicID.MatchString(v)
}

// IsKeyID reports whether a value is the id or the fingerprint of a key of PGP.
func IsKeyID(v string) bool { return keyID.MatchString(v) }

var keyID = regexp.MustCompile(`^(?:0x)?[0-9A-F]{8}(?:[0-9A-F]{8}|[0-9A-F]{32})?!?$`)
