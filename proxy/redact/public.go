package redact

import (
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// publicWords are the words of the exchange that are no secrets: names of models, ids
// that the provider issued. They are never looked for as secrets.
type publicWords map[string]bool

// maxWords bounds what is remembered. A recording with more ids forgets the oldest at once.
const maxWords = 1 << 16

// add remembers words.
func (p publicWords) add(words []string) {
	for _, w := range words {
		if len(p) >= maxWords {
			clear(p)
		}
		p[w] = true
	}
}

// has reports whether a value is public. An id is as random as a key: a key that was sent
// as one, which isSure says, stays a secret.
func (p publicWords) has(v string, isSure bool) bool {
	return p[v] && (!isSure || !values.LooksLikeKey(v))
}
