package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// lookAtKeyLines looks at the lines of a private key after the one of a place.
func (w *search) lookAtKeyLines(at int) {
	_, next := lineEnd(w.text, at)
	if end, after := lineEnd(w.text, next); end == next {
		next = after // of PGP
	}
	for range maxKeyLines {
		end, after := lineEnd(w.text, next)
		m := keyLine.FindSubmatchIndex(w.text[next:end])
		if m == nil || m[3]-m[2] < values.MinSecret && !bytes.Contains(w.text[after:min(after+maxKeyEnd, len(w.text))], []byte("-----END")) {
			return
		}
		w.add(Secret{Value: lex.Between(next+m[2], next+m[3])})
		w.valueEnd = end
		if after == next || end == after {
			return
		}
		next = after
	}
}

const (
	maxKeyLines = 64
	maxKeyEnd   = 24 // how soon after a short last line the end is said, in bytes
)

// keyLine matches a line of a key, with what numbers or quotes it and what ends the text
// around it.
var keyLine = regexp.MustCompile(`^(?:\s*\d+(?:\\+t|\t|→)|[\s+>|-]*)([A-Za-z0-9+/=]{1,80})(?:$|["'\\<\r ])`)

// privateMember matches the private numbers of a JSON Web Key.
var privateMember = regexp.MustCompile(`"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*"([A-Za-z0-9_-]{16,})`)

// privateMembers finds the private numbers of the JSON Web Keys in a text.
func privateMembers(text []byte) (out []Secret) {
	if !bytes.Contains(text, []byte(`"kty`)) {
		return nil
	}
	for _, m := range privateMember.FindAllSubmatchIndex(text, -1) {
		out = append(out, Secret{Value: lex.Between(m[2], m[3])})
	}
	return out
}
