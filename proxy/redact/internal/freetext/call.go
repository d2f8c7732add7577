package freetext

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// maxCall is how long the arguments of a call are, at most, in bytes.
const maxCall = 200

// lookAtCall looks at the strings among the arguments of SetBasicAuth("user", "…"),
// auth=("user", "…"), jwt.sign(payload, "…"), and reports whether there was a secret.
func (w *search) lookAtCall(name lex.Span, class names.Class) (ok bool) {
	text := w.text
	word := name.In(text)
	if class != names.Strong && !lex.HasSuffixFold(word, "auth") && !lex.HasSuffixFold(word, "credentials") && !lex.HasSuffixFold(bytes.TrimRight(word, lex.Digits), "hmac") {
		return false
	}
	at := name.End
	if text[at] == '=' {
		at++
	}
	if at >= len(text) || text[at] != '(' {
		return false
	}
	end := min(len(text), at+maxCall)
	if n := bytes.IndexAny(text[at:end], ")\n"); n >= 0 {
		end = at + n
	}
	for i := at + 1; i < end; i++ {
		if text[i] != '"' && text[i] != '\'' {
			continue
		}
		value := valueAt(text, i)
		if v := value.In(text); value.End <= end && values.IsSecretIn(v, values.PasswordPlace) {
			w.add(Secret{Name: name, Value: value})
			ok = true
		}
		i = max(i, lex.Past(text, value.End, "\\", 8))
	}
	return ok
}
