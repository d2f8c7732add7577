package replay

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// Masks returns the masks for [Config]: of what stands in words and what looks like a key, and
// of each alone, as requests were recorded that have an exemption, or by builds that did not
// look into words. maskKeys takes out what looks like a key, and newRedactor returns one that
// knows the user's rules.
func Masks(maskKeys func(cassette.Request, *redact.Redactor) (cassette.Request, bool), newRedactor func() *redact.Redactor) []func(cassette.Request) (cassette.Request, bool) {
	both, words, keys := newRedactor(), newRedactor(), newRedactor()
	both.LookIntoWords()
	words.LookIntoWords()
	return []func(cassette.Request) (cassette.Request, bool){
		func(in cassette.Request) (cassette.Request, bool) { return maskKeys(in, both) },
		func(in cassette.Request) (cassette.Request, bool) {
			out := words.Request(in)
			return out, out.URL != in.URL || !bytes.Equal(out.Body, in.Body)
		},
		func(in cassette.Request) (cassette.Request, bool) { return maskKeys(in, keys) },
	}
}
