package freetext

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// addressRule finds the credentials of URLs.
const addressRule = "address"

// lookAtAddress looks at the URL whose "://" is at a place.
func (w *search) lookAtAddress(at int) {
	address := lex.Between(at, at+len("://"))
	for address.Start > 0 && at-address.Start < 20 &&
		(lex.IsLetter(w.text[address.Start-1]) || w.text[address.Start-1] == '+') {
		address.Start--
	}
	most := min(len(w.text), at+maxAddress)
	if n := bytes.Index(w.text[at+1:most], []byte("://")); n >= 0 {
		most = at + 1 + n // another one in it, which is looked at on its own
	}
	for address.End < most && strings.IndexByte(" \t\r\n\"'`<>\\", w.text[address.End]) < 0 {
		address.End++
	}
	for _, s := range structure.URLSecrets(string(address.In(w.text))) {
		s = lex.Between(address.Start+s.Start, address.Start+s.End)
		isSecret, v := values.IsSecretIn(s.In(w.text), values.KeyPlace), s.In(w.text)
		if isUser := bytes.HasPrefix(w.text[s.End:], []byte("@")); isUser {
			isSecret = isPasswordOfUser(v)
		}
		if isSecret {
			w.found = append(w.found, Secret{Value: s, Rule: addressRule})
		}
	}
}

// maxAddress is how much of a URL in a text is looked at, in bytes.
const maxAddress = 4 << 10
