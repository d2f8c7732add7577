package values

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
)

// Place is what stands around a value, as far as it says something about the value. The later
// ones say more: what is a secret in one is one in those after it that are of the same kind.
type Place uint8

const (
	// AnyPlace says nothing: only the value can tell.
	AnyPlace Place = iota
	// SpokenPlace follows the name of a credential in a sentence.
	SpokenPlace
	// KeyPlace stands under the name of what machines make: a token, a key.
	KeyPlace
	// LiteralKeyPlace is KeyPlace in quotes, in the environment or at the beginning of a line.
	LiteralKeyPlace
	// PasswordPlace is given to the name of what people choose: a password.
	PasswordPlace
	// LinePlace is PasswordPlace where no word stands before the name, as in a file of settings.
	LinePlace
	// LiteralPlace is PasswordPlace where no expression of a program can stand: in quotes, after
	// a flag, in the environment.
	LiteralPlace
)

// LiteralPlaceUnder is the place of a value in quotes under a name.
func LiteralPlaceUnder(name []byte) Place {
	if names.IsChosen(name) {
		return LiteralPlace
	}
	return LiteralKeyPlace
}

// MaxLength is the length of the longest value that is taken for a secret, in bytes.
const MaxLength = 8 << 10

// IsSecretIn reports whether a value in a place cannot be guessed, and is no expression,
// address or path.
func IsSecretIn(value []byte, p Place) bool {
	if plain, hasAccents := withoutAccents(value); hasAccents {
		value = plain
	}
	hasDigit, isExpression := lookOver(value)
	if isExpression || !hasDigit && len(value) < leastLetters && p != LiteralPlace {
		return false
	}
	v := string(value)
	switch {
	case hasDigit && isPublicID(v):
		return false
	case hasDigit && HasSecretForm(v):
		return true
	case p == AnyPlace:
		return IsRandom(v) && !IsHexadecimal(v)
	case hasDigit && isRandomIn(v, p), letterSurprise(v) >= p.leastSurprise(v):
		return true
	}
	return isChosenKey(v, p) || isChosenPassword(v, p)
}

// isRandomIn reports whether a value with digits has too many for a name.
func isRandomIn(v string, p Place) bool {
	return HasLettersAndDigits(v) && (isNoWord(v) || p >= KeyPlace && isMixed(v))
}

// isChosenKey reports whether a value that is given to a key or a token is one that people choose, or that has signs.
func isChosenKey(v string, p Place) bool {
	if p != KeyPlace && p != LiteralKeyPlace {
		return false
	}
	return p == LiteralKeyPlace && (isLettersOfBase64(v) || hasManySigns(v)) || IsPhrase(v, "-") || isChosenWords(v) ||
		!lex.IsAlphanumericAt([]byte(v), len(v)-1) && chosenWord.MatchString(v)
}

// leastSurprise is how many bits less likely as words letters must be. Small letters leave out
// where a word begins, so it takes more of them.
func (p Place) leastSurprise(v string) float64 {
	switch isOneCase := v == strings.ToLower(v) || v == strings.ToUpper(v); {
	case isOneCase && p == SpokenPlace:
		return leastSurprise + 7
	case isOneCase && (p == KeyPlace || p == PasswordPlace):
		return leastSurprise + 3
	}
	return leastSurprise
}

// isLettersOfBase64 reports whether a value is random letters in base64 for URLs, with its signs.
func isLettersOfBase64(v string) bool {
	signs := strings.Count(v, "-") + strings.Count(v, "_")
	return len(v) >= 20 && signs > 0 && 8*signs <= len(v) && v != strings.ToLower(v) && v != strings.ToUpper(v) &&
		IsRandomLetters(urlSigns.Replace(v))
}

var urlSigns = strings.NewReplacer("-", "+", "_", "/")

// isMixed reports whether a value changes so often between letters and digits that it is no name.
func isMixed(v string) bool {
	return 4*countDigits(v) >= len(v) && digitGroups(v) >= 2 && GuessBits(v) >= 24 &&
		strings.Trim(v, lex.Alphabet) == "" && len(v) >= leastLetters && !identifier.MatchString(v)
}

// hasManySigns reports whether a value has so many different signs that nobody wrote it by hand.
func hasManySigns(v string) bool {
	signs := 0
	for _, sign := range []byte("!#%^&*?+~@$;:<>=|{}[](),") {
		signs += min(strings.Count(v, string(sign)), 1)
	}
	return signs >= 3 && GuessBits(v) >= 60 && !operators.MatchString(v)
}

// isNoWord reports whether a value is more than words of a dictionary and numbers.
func isNoWord(v string) bool {
	bits := GuessBits(v)
	isPath := v[0] == '/' || strings.HasPrefix(v, "~/")
	if isPath && bits < enoughBits && (strings.Count(v, "/") > 1+len(v)/20 || !IsRandom(v)) {
		return false
	}
	switch {
	case bits < LeastIssuedBits, IsSlug(v), bits <= 36 && identifier.MatchString(v), memberOf.MatchString(v),
		strings.HasPrefix(v, "urn:"), strings.HasPrefix(v, "arn:"):
		return false
	}
	return 12*countDigits(v) >= len(v) || surpriseOf(v, len(v)/2) > surelyWords // GoogleCloudV1alphaAccessToken
}

// surelyWords is the surprise of letters that are surely words.
const surelyWords = -20

var (
	// identifier matches what a program calls a thing: config.oauth2Token, self.key1.
	identifier = regexp.MustCompile(`^(?:[A-Za-z]+_?\d?[A-Za-z_]*\.)*[A-Za-z]{3,}_?\d{0,2}[A-Za-z_]*$`)
	// memberOf matches a member of something: ed25519.PrivateKey.
	memberOf = regexp.MustCompile(`^(?:[A-Za-z]+\d*[A-Za-z_]*\.)+[A-Za-z_]{4,}$`)
)

// EncodedPassword returns what a value holds that is the base64 of user:password or of one
// word, as in the files of docker and of Kubernetes.
func EncodedPassword(value string) []string {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil || bytes.ContainsFunc(plain, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil
	}
	_, password, isPair := bytes.Cut(plain, []byte(":"))
	if !isPair {
		password = plain
	}
	if !IsSecretIn(password, PasswordPlace) {
		return nil
	}
	return []string{string(password)}
}
