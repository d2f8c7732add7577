package specs

import (
	"crypto/hmac"
	"crypto/sha256"
	"regexp"
	"strings"
)

// nonce is a place for a word that cannot be known beforehand: {{nonce}} or
// {{nonce NAME}}.
var nonce = regexp.MustCompile(`\{\{nonce(?: ([a-z0-9-]+))?\}\}`)

// Nonce is the word that stands for a name under a seed: eight letters and
// digits, the same in every text of a scenario and for every provider. A subject
// and a provider that share a seed share the word.
func Nonce(seed, name string) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	mac := hmac.New(sha256.New, []byte(seed))
	mac.Write([]byte("nonce/" + name))
	word := mac.Sum(nil)[:8]
	for i := range word {
		word[i] = alphabet[int(word[i])%len(alphabet)]
	}
	return string(word)
}

// Fresh is text with the words of seed in their places.
func Fresh(text, seed string) string {
	if !strings.Contains(text, "{{nonce") {
		return text
	}
	return nonce.ReplaceAllStringFunc(text, func(place string) string {
		return Nonce(seed, nonce.FindStringSubmatch(place)[1])
	})
}

// hasBadNonce reports whether text has what looks like the place of a nonce and is
// none.
func hasBadNonce(text string) bool {
	return strings.Contains(text, "{{") && strings.Contains(nonce.ReplaceAllString(text, ""), "{{nonce")
}
