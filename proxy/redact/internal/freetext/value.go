package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// pair is a name and the value that follows it.
type pair struct {
	name  lex.Span
	class names.Class
	sign  int // where the sign between them ends
	value lex.Span
}

// lookAtValue looks at what follows a name and a sign. The value may be a credential as it is.
// Where it is not, a sentence may give one, or the credential stands behind another word.
func (w *search) lookAtValue(name lex.Span, class names.Class) {
	sign := afterSign(w.text, name, true)
	if sign < 0 {
		w.lookAtSentence(name, class)
		return
	}
	p := pair{name: name, class: class, sign: sign}
	if isBlock := w.findValue(&p); isBlock || w.lookAtCookies(p) {
		return
	}
	w.lookAtChange(p)
	w.dropPrefix(&p)
	switch {
	case bytes.HasPrefix(p.value.In(w.text), []byte(values.Mark)), w.addUnder(p), w.addChosen(p):
	case strings.IndexByte(":=>{", w.text[p.sign-1]) >= 0:
		w.lookBehindValue(p)
	case !w.addTyped(p):
		w.lookAtSentence(name, class)
	}
}

// lookAtChange looks at the new value of a setting behind the old one: password = "…" -> "…".
func (w *search) lookAtChange(p pair) {
	if p.class != names.Strong {
		return
	}
	at := lex.Past(w.text, p.value.End, "\\\"') ", 12)
	if sign := w.text[at:]; at == p.value.End || !bytes.HasPrefix(sign, []byte("-> ")) && !bytes.HasPrefix(sign, []byte("=> ")) {
		return
	}
	if next := valueAt(w.text, at+len("-> ")); isAfterAny(w.text, next, "\"'") {
		w.addIfSecret(p.name, next, values.LiteralPlaceUnder(p.name.In(w.text)))
	}
}

// findValue sets the value of a pair, and reports whether it was a block of YAML, which it looks
// at itself.
func (w *search) findValue(p *pair) (isBlock bool) {
	text, at := w.text, p.sign
	switch {
	case text[at-1] == ',' && at < len(text) && isLineEnd(text, at):
		p.value = valueBelow(text, at, p.name.In(text))
	case at+1 < len(text) && text[at] == ' ' && strings.IndexByte("|>&", text[at+1]) >= 0:
		if p.value, isBlock = w.lookAtNode(*p); isBlock {
			return true
		}
	default:
		p.value = valueAt(text, at)
	}
	if p.value.End-p.name.End > longValue {
		w.valueEnd = p.value.End
	}
	if v := p.value; v.End == v.Start+1 && lex.IsDigit(text[v.Start]) && text[at-1] == ' ' {
		p.value = valueAt(text, v.End) // password 7 X, of Cisco
	}
	if isParameter := text[at-1] == '=' && p.name.Start > 0 && (text[p.name.Start-1] == '?' || text[p.name.Start-1] == '&'); isParameter {
		p.value.End = p.value.Start + lex.IndexOrLength(p.value.In(text), '#') // of a URL, which goes on
	}
	return false
}

// lookAtCookies looks at the pairs of a line of cookies, and reports whether a value is one.
func (w *search) lookAtCookies(p pair) bool {
	if !lex.HasSuffixFold(p.name.In(w.text), "cookie") {
		return false
	}
	value, _ := w.dropScheme(p.value)
	if isFlag(p.name.In(w.text)) && bytes.IndexByte(value.In(w.text), '=') < 0 {
		return false // of Erlang
	}
	w.lookAtParameters(p.name, value, ";")
	return true
}

// dropScheme returns the value behind a scheme, and whether there was one.
func (w *search) dropScheme(value lex.Span) (lex.Span, bool) {
	next, hasScheme := afterScheme(w.text, value)
	word := value.In(w.text)
	if hasScheme && (bytes.IndexByte(next.In(w.text), '=') > 0 || !values.IsSecretIn(word, values.KeyPlace)) && !bytes.HasPrefix(word, []byte(values.Mark)) {
		return next, true
	}
	return value, hasScheme
}

// dropPrefix takes off a value what stands before the credential in it. A scheme of authorization
// may have parameters, each of which may be one.
func (w *search) dropPrefix(p *pair) {
	value, hasScheme := w.dropScheme(p.value)
	if hasScheme && lex.HasSuffixFold(p.name.In(w.text), "authorization") && bytes.IndexByte(value.In(w.text), '=') > 0 {
		w.lookAtParameters(p.name, value, ",")
	}
	p.value = afterOwnName(w.text, value)
	switch word := p.value.In(w.text); {
	case lex.HasSuffixFold(p.name.In(w.text), "ident"):
		p.value = lastOfUser(w.text, p.value)
	case bytes.HasPrefix(word, []byte("pass:")): // of openssl
		p.value.Start += len("pass:")
	case string(word) == "--body": // gh secret set NAME --body X
		p.sign, p.value = p.value.End, valueAt(w.text, p.value.End)
	}
}

// addTyped adds the string behind a name and a type, as in: var password string = "…".
func (w *search) addTyped(p pair) bool {
	next := afterNext(w.text, p.value)
	if w.text[p.sign-1] != ' ' || next.End == next.Start || strings.IndexByte("\"'`", w.text[next.Start-1]) < 0 {
		return false
	}
	p.sign, p.value = next.Start-1, next
	return w.addUnder(p)
}

// lookBehindValue looks further when the first word after the sign is not a credential. The word may
// begin a phrase or a sentence, or be a type, a member or a call whose value comes after it.
func (w *search) lookBehindValue(p pair) {
	text := w.text
	if p.value.End < len(text) && text[p.value.End] == ' ' {
		if phrase := phraseAt(text, p.value, phrasePlace(placeOf(text, p), p.name.In(text))); phrase.End > phrase.Start {
			w.add(Secret{Name: p.name, Value: phrase})
			return
		}
	}
	if p.value.Start == p.value.End || !lex.IsAlphanumericAt(text, p.value.Start) {
		w.lookAtSentence(p.name, p.class)
	}
	isID := string(p.value.In(text)) == "id"
	p.value = afterNext(text, p.value)
	if isID && providerSession.Match(p.value.In(text)) {
		return
	}
	w.addUnder(p)
	if p.value.End-p.name.End > longValue {
		w.valueEnd = max(w.valueEnd, p.value.End)
	}
}

// providerSession matches the id by which a provider names a session: {"session": {"id": "sess_…"}}.
var providerSession = regexp.MustCompile(`^sess_[A-Za-z0-9]+$`)

// valueBelow returns the element in the next line of a list in which a name stands, if the name is
// a flag or the element has a scheme; nothing for another one, as lists of names have it.
func valueBelow(text []byte, at int, name []byte) lex.Span {
	_, next := lineEnd(text, at)
	value := valueAt(text, next)
	if _, hasScheme := afterScheme(text, value); hasScheme || isFlag(name) {
		return value
	}
	return lex.Between(at, at)
}

// addUnder adds the value of a pair if it is a secret under its name, and reports whether it is.
func (w *search) addUnder(p pair) bool {
	v, word := p.value.In(w.text), p.name.In(w.text)
	if p.class == names.Weak && w.addLogin(p) {
		return true
	}
	if p.class == names.Weak && bytes.HasPrefix(v, []byte("base64:")) {
		p.value.Start += len("base64:")
		v = p.value.In(w.text)
	}
	if len(v) < values.MinWord || !values.IsSecretIn(v, placeOf(w.text, p)) {
		return false
	}
	if p.class != names.Strong && !isKeyUnder(word, string(v)) && !isKeyOfLogin(w.text, p.name) {
		return false
	}
	if lex.HasSuffixFold(word, "signingkey") && values.IsKeyID(string(v)) {
		return false // of git, which names a key of PGP there
	}
	if end := p.value.End; w.text[p.sign-1] == ':' && end+1 < len(w.text) && w.text[end] == ' ' && lex.IsAlphanumericAt(w.text, end+1) && values.IsJoinedWords(string(v)) {
		return false // a sentence goes on
	}
	w.add(Secret{Name: p.name, Value: p.value})
	return true
}

// loginForm matches user:PASSWORD.
var loginForm = regexp.MustCompile(`^[\w.@+-]{1,40}:[^:]+$`)

// addLogin adds the password of a user and a password under a name such as basic_auth, and reports
// whether there is one.
func (w *search) addLogin(p pair) bool {
	word := p.name.In(w.text)
	isLogin := lex.HasSuffixFold(word, "auth") || lex.HasSuffixFold(word, "credentials") || lex.HasSuffixFold(word, "creds")
	if !isLogin || !loginForm.Match(p.value.In(w.text)) || !isAfterAny(w.text, p.value, "\"'=") {
		return false
	}
	return w.addIfSecret(p.name, lastOfUser(w.text, p.value), values.LiteralPlace)
}

// phrasePlace is the place of a phrase: some names say that there is one.
func phrasePlace(p values.Place, name []byte) values.Place {
	if lex.HasSuffixFold(name, "phrase") || lex.HasSuffixFold(name, "mnemonic") {
		return values.LiteralPlace
	}
	return p
}

// isKeyUnder reports whether a value under a weak name is a key.
func isKeyUnder(name []byte, v string) bool {
	isKey := values.LooksLikeKey(v) || values.EncodedPassword(v) != nil || values.IsUUID(v) && lex.HasSuffixFold(name, "_key")
	return values.HasSecretForm(v) || mayMeanKey(name) && isKey ||
		values.IsRandom(v) && !values.IsHexadecimal(v) && !values.IsFile(v)
}

// lookAtParameters looks at the values of pairs after a name: a line of cookies, the parameters
// of a scheme of authorization.
func (w *search) lookAtParameters(name, value lex.Span, separator string) {
	text := w.text
	for range maxParameters {
		word := value.In(text)
		if n := bytes.IndexByte(word, ';'); n >= 0 { // in quotes it ends no value
			value.End = value.Start + n
			word = word[:n]
		}
		if n := bytes.IndexByte(word, '='); n > 0 {
			parameter := lex.Between(value.Start+n+1, value.End)
			if parameter.Start == parameter.End {
				parameter = valueAt(text, parameter.Start) // in quotes
			}
			w.addIfSecret(name, parameter, values.KeyPlace)
			value.End = lex.Past(text, parameter.End, "\"\\", 4)
		}
		w.valueEnd = max(w.valueEnd, value.End)
		if !bytes.HasPrefix(text[value.End:], []byte(separator)) {
			return
		}
		value = valueAt(text, value.End+1)
	}
}

// maxParameters is how many parameters of one name are looked at.
const maxParameters = 64
