package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// lookAtAddress looks at the URL whose "://" is at a place.
func (w *search) lookAtAddress(i int) {
	address := addressAround(w.text, i, w.looked) // its parameters have names, too
	if m := oddPassword.FindSubmatchIndex(w.text[i:address.End]); m != nil {
		w.addIfSecret(lex.Span{}, lex.Between(i+m[2], i+m[3]), values.PasswordPlace)
	}
	w.looked = max(w.looked, address.End)
	w.lookBehindAddress(address)
	for _, s := range structure.URLSecrets(string(address.In(w.text))) {
		s = lex.Between(address.Start+s.Start, address.Start+s.End)
		switch isUser := bytes.HasPrefix(w.text[s.End:], []byte("@")); {
		case !isUser:
			w.addIfSecret(lex.Span{}, s, values.KeyPlace)
		case isPasswordOfUser(s.In(w.text)):
			w.add(Secret{Value: s})
		case isWordOfUser(w.text, s):
			w.add(Secret{Value: s, IsWords: true})
		}
	}
}

// isWordOfUser reports whether the password in a URL is a word that is not the name of the user, too.
func isWordOfUser(text []byte, s lex.Span) bool {
	before := text[max(s.Start-names.MaxLength, 0):max(s.Start-1, 0)]
	user := before[bytes.LastIndexByte(before, '/')+1:]
	return !bytes.EqualFold(user, s.In(text)) && settingForm.accepts(values.WordingOf(string(s.In(text))))
}

// oddPassword matches the password of a URL that should have been escaped.
var oddPassword = regexp.MustCompile(`^://[^/\s:@?#]*:([^/\s@]*[?#][^/\s@]*)@`)

// isPasswordOfUser reports whether the password in a URL, which is no reference, is one: all but
// a single word that is likely to stand elsewhere, too.
func isPasswordOfUser(v []byte) bool {
	return values.IsSecretIn(v, values.LiteralPlace) || len(v) >= minUserPassword && !values.IsExpression(v) && len(bytes.Trim(v, lex.Alphabet[:52])) > 0
}

// minUserPassword is the length of the shortest password of a URL that may be words, in bytes.
const minUserPassword = 8

// addressAround returns the URL whose "://" is at a place. Inside of another one, which ends
// at looked, it ends before the next: the parameters there are those of the other one.
func addressAround(text []byte, at, looked int) lex.Span {
	s := lex.Between(at, at+len("://"))
	for s.Start > 0 && at-s.Start < 20 && (lex.IsLetter(text[s.Start-1]) || text[s.Start-1] == '+') {
		s.Start--
	}
	if n := bytes.Index(text[s.End:max(s.End, looked)], []byte("://")); n >= 0 {
		return lex.Between(s.Start, s.End+n)
	}
	for s.End < len(text) && s.End-at < maxAddress && strings.IndexByte(" \t\r\n\"'`<>\\", text[s.End]) < 0 {
		s.End++
	}
	return s
}

// maxAddress is how much of a URL in a text is looked at, in bytes.
const maxAddress = 4 << 10

// databaseLogin matches the words before USER/PASSWORD@DATABASE.
var databaseLogin = regexp.MustCompile(`(?i)(?:sqlplus|oracle|sqlldr|expdp|impdp)\b`)

// lookAtLogin looks at USER/PASSWORD@DATABASE, whose "@" is at a place.
func (w *search) lookAtLogin(at int) {
	if isDSN := bytes.HasPrefix(w.text[at:], []byte("@tcp(")) || bytes.HasPrefix(w.text[at:], []byte("@unix(")); isDSN {
		start := bytes.LastIndexByte(w.text[max(at-names.MaxLength, 0):at], ':') + 1 + max(at-names.MaxLength, 0)
		w.addIfSecret(lex.Span{}, lex.Between(start, at), values.PasswordPlace)
		return
	}
	start := at
	for start > 0 && at-start < names.MaxLength && strings.IndexByte(" /\t\n\"'\\:", w.text[start-1]) < 0 {
		start--
	}
	if at-start < values.MinWord || start < 2 || w.text[start-1] != '/' || !lex.IsAlphanumericAt(w.text, start-2) {
		return
	}
	if databaseLogin.Match(w.text[max(start-names.MaxLength, 0):start]) {
		w.addIfPassword(lex.Between(start, at))
	}
}
