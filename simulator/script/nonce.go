package script

import (
	"crypto/sha256"
	"regexp"

	"github.com/meerkat-go/conformance/simulator/seal"
)

// nonce is a place for a word that nobody can know beforehand: {{nonce}} or
// {{nonce NAME}}.
var nonce = regexp.MustCompile(`\{\{nonce(?: ([a-z0-9-]+))?\}\}`)

// Nonce is the word that stands for a name under a key: eight letters and
// digits, the same in every turn and for every provider.
func Nonce(key seal.Key, name string) string {
	sum := sha256.Sum256([]byte(key.Envelope(seal.Facts{Origin: "script/nonce", Content: []byte(name)}, seal.Place{})))
	word := make([]byte, 8)
	for i := range word {
		word[i] = Base36[int(sum[i])%len(Base36)]
	}
	return string(word)
}

// fresh puts the words into everything that a block says.
func (b Block) fresh(key seal.Key) Block {
	fill := func(text string) string {
		return nonce.ReplaceAllStringFunc(text, func(place string) string {
			return Nonce(key, nonce.FindStringSubmatch(place)[1])
		})
	}
	b.Text = fill(b.Text)
	if len(b.Args) > 0 {
		b.Args = []byte(fill(string(b.Args)))
	}
	parts := b.Parts
	b.Parts = nil
	for _, p := range parts {
		b.Parts = append(b.Parts, fill(p))
	}
	return b
}
