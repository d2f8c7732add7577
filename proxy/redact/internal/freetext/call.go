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
	if class != names.Strong && !lex.HasSuffixFold(word, "auth") && !lex.HasSuffixFold(word, "credentials") && !lex.HasSuffixFold(word, "CredentialsImpl") && !lex.HasSuffixFold(bytes.TrimRight(word, lex.Digits), "hmac") {
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
	p, last := values.PasswordPlace, values.PasswordPlace
	if isLogin(text, name) {
		p, last = values.AnyPlace, values.LiteralPlace // a user, and the password
	}
	arguments := stringsIn(text, at+1, end)
	for i, value := range arguments {
		if i == len(arguments)-1 {
			p = last
		}
		ok = w.addIfSecret(name, value, p) || ok
	}
	return ok
}

// isLogin reports whether a call, or a tuple after a name, has a user and a password.
func isLogin(text []byte, name lex.Span) bool {
	word := name.In(text)
	return text[name.End] == '=' || lex.HasSuffixFold(word, "basicauth") || lex.HasSuffixFold(word, "CredentialsImpl") || lex.HasSuffixFold(word, "AccessToken")
}

// stringsIn returns the strings among the arguments of a call.
func stringsIn(text []byte, at, end int) (out []lex.Span) {
	for i := at; i < end; i++ {
		if text[i] != '"' && text[i] != '\'' {
			continue
		}
		value := valueAt(text, i)
		if value.End <= end && value.End > value.Start {
			out = append(out, value)
		}
		i = max(i, lex.Past(text, value.End, "\\", 8))
	}
	return out
}
