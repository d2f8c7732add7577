// Package values decides from a value alone, or from a value and what its [Place] says about it,
// whether it is a credential: [IsSecretIn]. It estimates how hard a value is to guess, knows the
// forms that say themselves what they are, and tells references, placeholders and expressions of
// programs from credentials. It does not look for values in texts.
package values

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// leastBits is how many bits of a value that is learnt as a secret an attacker must have to
// guess at least. Names of models and of modes have less: replacing them
// elsewhere would change the recording.
const leastBits = 40

// enoughBits is where [GuessBits] stops counting.
const enoughBits = 128

// GuessBits estimates how many bits must be guessed to find v: a word counts as one of a
// dictionary, other characters count each.
func GuessBits(v string) (bits float64) {
	for i := 0; i < len(v) && bits < enoughBits; {
		start := i
		switch c := v[i]; {
		case lex.IsDigit(c):
			for i < len(v) && lex.IsDigit(v[i]) {
				i++
			}
			bits += digitBits(v[start:i])
		case lex.IsLetter(c):
			for i++; i < len(v) && lex.IsLetter(v[i]) && (!lex.IsUpper(v[i]) || lex.IsUpper(v[i-1])); {
				i++
			}
			bits += min(float64(i-start)*4.7, 11+2*max(float64(i-start)-8, 0))
		default:
			i++
			if strings.IndexByte("-_.:/ ", c) < 0 {
				bits += 5
			}
		}
	}
	return bits
}

// digitBits counts a date as a word and other digits each.
func digitBits(run string) float64 {
	if len(run) == 8 && (strings.HasPrefix(run, "20") || strings.HasPrefix(run, "19")) {
		return 8
	}
	return float64(len(run)) * 3.3
}

// HasEntropy reports whether a value from a credential position is worth looking for
// elsewhere.
func HasEntropy(v string) bool {
	if len(v) >= MinSecret {
		return GuessBits(v) >= leastBits && !IsSentence(v)
	}
	return !wordsAndNumbers.MatchString(v)
}

// LeastIssuedBits is leastBits for what an endpoint issues under the name of a credential:
// the messages there have less.
const LeastIssuedBits = 30

// IsIssued reports whether a value in a reply has what a credential has.
func IsIssued(v string) bool {
	return len(v) >= MinWord && !strings.ContainsAny(v, " \t") &&
		(HasSecretForm(v) || HasEntropy(v) && (len(v) >= MinSecret || HasLettersAndDigits(v)))
}

// IsWordOfKey reports whether a value is one long word and not a path. The place where it
// stands must already say that it may be a secret.
func IsWordOfKey(v string) bool {
	return len(v) >= MinWord && !strings.ContainsAny(v, " \t\r\n") && !strings.Contains(v, "://") && v[0] != '/' &&
		v[0] != '.'
}

// IsUnguessable reports whether a value is such a word that nobody can guess.
func IsUnguessable(v string) bool {
	return IsWordOfKey(v) && HasLettersAndDigits(v) && GuessBits(v) >= leastBits
}

// IsHardToGuess reports whether a value, given the name of a credential, is one that nobody can
// guess or that people choose.
func IsHardToGuess(value string) bool {
	return IsUnguessable(value) && !IsSlug(value) || IsSecretIn([]byte(WithoutScheme(value)), LiteralKeyPlace)
}

// wordsAndNumbers matches what only looks like a short secret: gpt-4o-mini, test-key-1,
// v2.1, 2026-11-21.
var wordsAndNumbers = regexp.MustCompile(`^(?i:[a-z]{2,}|v?\d{1,4})([-_.:/ ]?(v?\d{1,4}[a-z]?|[a-z]+))*$`)

// HasLettersAndDigits reports whether v has letters and digits, as keys do and
// words do not.
func HasLettersAndDigits(v string) bool {
	return strings.ContainsAny(v, lex.Digits) && strings.Trim(v, lex.Digits+"-_.:+TZ") != ""
}

// MinWord is the length of the shortest secret that is looked for at all. It is replaced as a whole word, and only
// if it has letters and digits or cannot be guessed: replacing an ordinary word would corrupt
// bodies.
const MinWord = 8
