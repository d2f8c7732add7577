package structure

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// URLSecrets finds the secrets in a URL's text: user info, and the parameters of
// its query and fragment.
func URLSecrets(raw string) (out []lex.Span) {
	out = userInfo(raw)
	path := raw
	if at := strings.IndexAny(raw, "?#"); at >= 0 {
		path = raw[:at]
		out = pairSecrets([]byte(raw), at+1, out)
		named := PairsNamed([]byte(raw), at+1, nil,
			func(name string) bool { return addressParams[strings.ToLower(name)] })
		named = slices.DeleteFunc(named, func(s lex.Span) bool { return values.IsReference(raw[s.Start:s.End]) })
		out = lex.AddDisjoint(out, named)
	}
	return append(out, pathSecrets(path)...)
}

// addressParams are the parameters of a URL that are credentials whatever their value: in a form, and
// in what is said, a value under these names may be anything.
var addressParams = lex.Set("key sessionid session_id session-id sid")

// userInfo finds the password of a URL, and the user if it is a key.
func userInfo(raw string) []lex.Span {
	start := strings.Index(raw, "://") + len("://")
	if start < len("://") {
		return nil
	}
	authority := raw[start:]
	if n := strings.IndexAny(authority, "/?#"); n >= 0 {
		authority = authority[:n]
	}
	at := strings.LastIndexByte(authority, '@')
	if at <= 0 {
		return nil
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	var out []lex.Span
	if values.IsUnguessable(user) || values.IsRandomLetters(user) {
		out = append(out, lex.Between(start, start+len(user)))
	}
	if password != "" && !values.IsReference(password) {
		out = append(out, lex.Between(start+at-len(password), start+at))
	}
	return out
}

// afterSemicolon returns the value of the first credential that a ";" separates from what is
// before it, as some servers do.
func afterSemicolon(value []byte) []lex.Span {
	for at, sign := bytes.IndexByte(value, ';')+1, -1; at > 0; {
		if sign < at {
			n := bytes.IndexByte(value[at:], '=')
			if n < 0 {
				return nil
			}
			sign = at + n
		}
		secret := lex.Between(sign+1, len(value))
		if secret.Start < secret.End && sign-at <= names.MaxLength && isParameterSecret(string(value[at:sign])) {
			return []lex.Span{secret}
		}
		n := bytes.IndexByte(value[at:], ';') + 1
		if n == 0 {
			break
		}
		at += n
	}
	return nil
}
