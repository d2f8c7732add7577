package redact

import (
	"regexp"
	"strings"
)

const digits = "0123456789"

// leastBits is how much an attacker must at least have to guess of a value that is
// learnt as a secret. Names of models and of modes have less: replacing them
// elsewhere would change the recording.
const leastBits = 40

// enoughBits is where guessBits stops counting.
const enoughBits = 128

// guessBits estimates how many bits must be guessed to find v: a word counts as one of a
// dictionary, other characters count each.
func guessBits(v string) (bits float64) {
	for i := 0; i < len(v) && bits < enoughBits; {
		start := i
		switch c := v[i]; {
		case isDigit(c):
			for i < len(v) && isDigit(v[i]) {
				i++
			}
			bits += digitBits(v[start:i])
		case isLetter(c):
			for i++; i < len(v) && isLetter(v[i]) && (!isUpper(v[i]) || isUpper(v[i-1])); {
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

// hasEntropy reports whether a value from a credential position is worth looking for
// elsewhere.
func hasEntropy(v string) bool {
	if len(v) >= minSecret {
		return guessBits(v) >= leastBits && !sentence.MatchString(v)
	}
	return !wordsAndNumbers.MatchString(v)
}

// sentence matches words with a space between them. Somebody else may say the same.
var sentence = regexp.MustCompile(`^(?:[A-Za-z]+[,.:!?]? )+[A-Za-z]+[.!?]?$`)

// leastIssuedBits is leastBits for what an endpoint issues under the name of a credential:
// the messages there have less.
const leastIssuedBits = 30

// isWordOfKey reports whether a value is one long word and not a path. The place where it
// stands must already say that it may be a secret.
func isWordOfKey(v string) bool {
	return len(v) >= minWord && !strings.ContainsAny(v, " \t\r\n") && !strings.Contains(v, "://") && v[0] != '/' && v[0] != '.'
}

// isUnguessable reports whether a value is such a word that nobody can guess.
func isUnguessable(v string) bool {
	return isWordOfKey(v) && hasLettersAndDigits(v) && guessBits(v) >= leastBits
}

// wordsAndNumbers matches what only looks like a short secret: gpt-4o-mini, test-key-1,
// v2.1, 2026-11-21.
var wordsAndNumbers = regexp.MustCompile(`^(?i:[a-z]{2,}|v?\d{1,4})([-_.:/ ]?(v?\d{1,4}[a-z]?|[a-z]+))*$`)

// looksLikeKey reports whether a value has the form of a key: one long word of letters
// and digits that change often, and not an id as UUIDs are.
func looksLikeKey(v string) bool {
	return len(v) >= 20 && len(v) <= maxForm && strings.Trim(v, alphabet+"-_.~+/=") == "" && !uuid.MatchString(v) &&
		digitGroups(v) >= 2 && guessBits(v) >= 60
}

// digitGroups counts the runs of digits in v.
func digitGroups(v string) (n int) {
	for i := range len(v) {
		if isDigit(v[i]) && (i == 0 || !isDigit(v[i-1])) {
			n++
		}
	}
	return n
}

var uuid = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// hasSecretForm reports whether a value says itself what it is: a signed token, a private
// key or the id of a key at AWS.
func hasSecretForm(v string) bool {
	return strings.HasPrefix(v, "-----BEGIN ") && strings.Contains(v, "PRIVATE KEY-----") || signedToken.MatchString(v) || awsKeyID.MatchString(v) || ephemeralKey.MatchString(v)
}

// ephemeralKey matches a client secret of OpenAI's Realtime API.
var ephemeralKey = regexp.MustCompile(`^ek_[A-Za-z0-9_-]{16,}$`)

var awsKeyID = regexp.MustCompile(`^(AKIA|ASIA|GOOG1E)[A-Z0-9]{16,}$`)

var signedToken = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}$`)

// hasLettersAndDigits reports whether v has letters and digits, as keys do and
// words do not.
func hasLettersAndDigits(v string) bool {
	return strings.ContainsAny(v, digits) && strings.Trim(v, digits+"-_.:+TZ") != ""
}
