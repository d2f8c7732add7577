package structure

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// settingSecrets finds the credentials inside a longer setting: URLs, headers, flags,
// NAME=VALUE and connection strings.
func settingSecrets(text []byte) (out []lex.Span) {
	if len(text) > maxSetting {
		return nil
	}
	out = AddressSecrets(text)
	if bytes.IndexByte(text, '=') < 0 && bytes.IndexByte(text, ':') < 0 && bytes.IndexByte(text, ' ') < 0 ||
		bytes.IndexByte(text, ';') >= 0 {
		return out
	}
	if bytes.Contains(text, []byte("login ")) {
		for _, m := range loginPassword.FindAllSubmatchIndex(text, -1) {
			out = append(out, lex.Between(m[2], m[3]))
		}
	}
	for _, m := range namedValue.FindAllSubmatchIndex(text, -1) {
		name, value := lex.Between(m[2], m[3]), groupOf(m[4:])
		switch {
		case !isSettingSecret(text, name, value):
		case isCookie(name.In(text)):
			out = lex.AppendShifted(out, cookieSpans(value.In(text)), value.Start)
		default:
			out = append(out, value)
		}
	}
	return out
}

// isSettingSecret reports whether a value is a credential, given the name before it in a setting.
func isSettingSecret(text []byte, name, value lex.Span) bool {
	v := string(value.In(text))
	return names.Classify(string(name.In(text))) == names.Strong && !values.IsReference(v) && !values.IsAddress(v) &&
		!bytes.HasPrefix(text[value.End:], []byte("://")) && !isTerm(text, name, value) &&
		!values.IsKeyID(name.In(text), value.In(text))
}

// isTerm reports whether a name, a colon and a value are a term of some language: a scope
// (secret:read), an order (token:asc), a variable of GraphQL ($token: String!), a part of the name
// of a resource (arn:…:secret:…).
func isTerm(text []byte, name, value lex.Span) bool {
	v := value.In(text)
	switch sign := text[name.End:value.Start]; {
	case sign[0] != ':':
		return false
	case name.Start > 0 && text[name.Start-1] == '$':
		return graphQLType.Match(v)
	case len(sign) > 1:
		return false
	}
	return len(v) < values.MinWord && len(bytes.Trim(v, lex.Alphabet[26:52])) == 0 || IsInResourceName(text, name.Start)
}

// graphQLType matches the type of a variable, and the code after it.
var graphQLType = regexp.MustCompile(`^\[*[A-Z][A-Za-z]+[!\]]*(?:\)|$)`)

// IsInResourceName reports whether a place is in the name of a resource of AWS.
func IsInResourceName(text []byte, at int) bool {
	if at == 0 || text[at-1] != ':' {
		return false
	}
	word := text[max(at-names.MaxLength, 0):at]
	return bytes.HasPrefix(word[bytes.LastIndexAny(word, " \t\r\n\"'`\\=(,")+1:], []byte("arn:"))
}

// AddressSecrets finds the credentials in what leads to a server: URLs and connection
// strings of NAME=VALUE with semicolons.
func AddressSecrets(text []byte) (out []lex.Span) {
	if bytes.Contains(text, []byte("://")) {
		out = URLsIn(text)
	}
	if bytes.IndexByte(text, ';') < 0 {
		return out
	}
	at, pairs := 0, 0
	var passwords []lex.Span
	for part := range bytes.SplitSeq(text, []byte(";")) {
		name, value, isPair := bytes.Cut(part, []byte("="))
		if isPair && !lex.IsSeveralLines(part) {
			pairs++
			if end := at + len(part); len(value) > 0 && names.Classify(string(name)) == names.Strong {
				passwords = append(passwords, lex.Between(end-len(value), end))
			}
		}
		at += len(part) + 1
	}
	if pairs < 2 {
		return out // a statement of a program
	}
	return append(out, passwords...)
}

// maxSetting is the length of the longest setting that is taken apart, in bytes.
const maxSetting = 16 << 10

// namedValue matches NAME=VALUE, Name: scheme VALUE and --name VALUE.
var namedValue = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]{1,60})(?:["']?\s?[=:]\s?(?:(?i:bearer|basic|token) )?|(?i: bearer ))(?:"([^"\n]+)"|'([^'\n]+)'|['"]?([^\s'";,&\\{[][^\s'";,&\\]*))`)

// groupOf returns the one group of several that matched.
func groupOf(groups []int) lex.Span {
	for len(groups) > 2 && groups[0] < 0 {
		groups = groups[2:]
	}
	return lex.Between(groups[0], groups[1])
}

// loginPassword matches the password of an entry of a .netrc file.
var loginPassword = regexp.MustCompile(`\blogin\s+\S+\s+password\s+(\S+)`)

// URLsIn finds the secrets of the URLs in a text.
func URLsIn(text []byte) (out []lex.Span) {
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte("://"))
		if n < 0 {
			return out
		}
		start, end := at+n, at+n+len("://")
		for start > at && (lex.IsLetter(text[start-1]) || lex.IsDigit(text[start-1]) || text[start-1] == '+') {
			start--
		}
		for end < len(text) && strings.IndexByte(" \t\r\n\"'<>\\", text[end]) < 0 {
			end++
		}
		out = lex.AppendShifted(out, URLSecrets(string(text[start:end])), start)
		at = end
	}
}
