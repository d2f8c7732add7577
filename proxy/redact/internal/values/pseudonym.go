package values

import (
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// Mark begins every pseudonym, so that people recognise it and redacting twice
// changes nothing.
const Mark = "REDACTED"

// LongMark replaces, cut to length, a secret that is too short for a pseudonym
// of its own. Two secrets could share a pseudonym of only a few letters.
const LongMark = Mark + Mark

// MinSecret is the length of the shortest secret that is looked for in any text. Every form of
// it has room for the mark of a pseudonym.
const MinSecret = 2 * len(Mark)

// IsPseudonym reports whether a value is what a secret was replaced by.
func IsPseudonym(s string) bool {
	if len(s) < MinSecret {
		return s == LongMark[:len(s)]
	}
	return strings.HasPrefix(s, Mark) && strings.Trim(s, lex.Alphabet) == ""
}

// WithoutScheme returns a credential without its scheme: "Bearer x" is x.
func WithoutScheme(credential string) string {
	for _, scheme := range []string{"Bearer ", "Basic ", "Token ", "AWS4-HMAC-SHA256 "} {
		if len(credential) > len(scheme) && strings.EqualFold(credential[:len(scheme)], scheme) {
			return credential[len(scheme):]
		}
	}
	return credential
}
