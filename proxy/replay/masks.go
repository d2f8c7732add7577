package replay

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// Mask takes more out of a redacted request, and reports whether there was any. It is safe for
// concurrent use.
type Mask func(cassette.Request) (masked cassette.Request, isMasked bool)

// Masks give the other forms in which a request may have been recorded: with an exemption, or
// by a build that did not look into words. The zero value masks nothing.
type Masks struct {
	All   Mask // takes out what stands in words and what looks like a key
	Words Mask
	Keys  Mask
}

// NewMasks returns the masks. maskKeys takes out what looks like a key, and newRedactor returns
// a redactor that knows the user's rules.
func NewMasks(maskKeys func(cassette.Request, *redact.Redactor) (cassette.Request, bool), newRedactor func() *redact.Redactor) Masks {
	both, words, keys := newRedactor(), newRedactor(), newRedactor()
	both.LookIntoWords()
	words.LookIntoWords()
	return Masks{
		All: func(in cassette.Request) (cassette.Request, bool) { return maskKeys(in, both) },
		Words: func(in cassette.Request) (cassette.Request, bool) {
			out := words.Request(in)
			return out, out.URL != in.URL || !bytes.Equal(out.Body, in.Body)
		},
		Keys: func(in cassette.Request) (cassette.Request, bool) { return maskKeys(in, keys) },
	}
}

// list returns the masks, the one that takes the most first.
func (m Masks) list() []Mask {
	if m.All == nil {
		return nil
	}
	return []Mask{m.All, m.Words, m.Keys}
}
