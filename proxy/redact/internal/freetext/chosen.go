package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// chosenForm is where the value of a password stands, as far as it says what of words may be one.
type chosenForm uint8

const (
	// noForm may have an expression of a program, or a sentence.
	noForm chosenForm = iota
	// memberForm is a word among other pairs: {user: x, password: X, …}, user=x password=X.
	memberForm
	// lineForm is what follows a name up to the end of its line, without quotes and not in source code.
	lineForm
	// settingForm is lineForm between other settings.
	settingForm
	// quotedForm is in quotes.
	quotedForm
	// literalForm is where only a value can stand: after a flag, in the environment, in an element of XML.
	literalForm
)

// accepts reports whether words in this form are a password.
func (f chosenForm) accepts(words values.Wording) bool {
	switch words {
	case values.JoinedWords:
		return f >= memberForm
	case values.SpacedNumber:
		return f >= settingForm
	case values.OneWord, values.JoinedNames:
		return f >= settingForm
	case values.SpacedWords:
		return f >= settingForm
	}
	return false
}

// addChosen adds the value of a pair if it is a password that somebody chose, and reports whether
// it is one. One of words that may stand elsewhere, too, is replaced nowhere else.
func (w *search) addChosen(p pair) bool {
	name := p.name.In(w.text)
	isPassword := names.IsPassword(name) || lex.HasSuffixFold(name, "pass") && userBefore.Match(w.text[max(p.name.Start-maxUser, 0):p.name.Start])
	return p.class == names.Strong && isPassword && w.addChosenAt(p)
}

// addChosenAt is addChosen under the name of a password.
func (w *search) addChosenAt(p pair) bool {
	value, form := chosenAt(w.text, p)
	if form == noForm || value.End-value.Start < values.MinWord {
		return false
	}
	v := value.In(w.text)
	switch words := values.WordingOf(string(v)); {
	case form == memberForm && bytes.Equal(bytes.ToLower(v), v):
		return false
	case form.accepts(words):
		w.add(Secret{Name: p.name, Value: value, IsWords: words != values.JoinedWords && !values.IsPhrase(string(v), " ")})
		return true
	case words == values.NoWording && form >= settingForm && !values.SaysSomething(string(v)):
		return w.addIfSecret(p.name, value, values.LiteralPlace)
	}
	return false
}

// chosenAt returns the whole value of a pair, and the form that it stands in.
func chosenAt(text []byte, p pair) (lex.Span, chosenForm) {
	start := p.value.Start
	if start == 0 || start >= len(text) || start < p.sign-1 {
		return p.value, noForm
	}
	if quote := text[start-1]; quote == '"' || quote == '\'' || quote == '`' {
		return quotedAt(text, p, quote)
	}
	name, end := p.name.In(text), p.value.End
	isTight := text[p.sign-1] == '=' && p.sign-1 == p.name.End && start == p.sign
	switch {
	case text[start-1] == '>':
		return elementAt(text, p)
	case isFlag(name):
		return p.value, formIf(isArgumentEnd(text, end), literalForm)
	case text[p.sign-1] == ' ':
		return p.value, formIf(isDirectiveOfHost(text, p), literalForm)
	}
	if isTight && isInConnection(text, lex.Between(p.name.Start, end)) {
		return p.value, formIf(isPairEnd(text, end), literalForm)
	}
	if value, form := lineAt(text, p, isTight); form > noForm {
		return value, form
	}
	isAmong := isTight && isPairBegin(text, p.name.Start) || text[p.sign-1] == ':' && end < len(text) && strings.IndexByte(",}", text[end]) >= 0
	switch {
	case isAmong && isTight && bytes.Equal(bytes.ToUpper(name), name):
		return p.value, formIf(isPairEnd(text, end), literalForm)
	case isAmong:
		return p.value, formIf(isPairEnd(text, end), memberForm)
	}
	return p.value, noForm
}

// elementAt is [chosenAt] for what an element of XML holds. Texts of an app for people to read have names, too:
// <string name="password">.
func elementAt(text []byte, p pair) (lex.Span, chosenForm) {
	start := p.value.Start
	value := lex.Between(start, start+max(bytes.IndexByte(text[start:min(len(text), start+maxPhrase)], '<'), 0))
	isRead := bytes.Contains(text[max(p.name.Start-maxUser, 0):p.name.Start], []byte("<string "))
	return value, formIf(!isRead && bytes.HasPrefix(text[value.End:], []byte("</")), literalForm)
}

// formIf returns form if a condition holds.
func formIf(ok bool, form chosenForm) chosenForm {
	if ok {
		return form
	}
	return noForm
}

// quotedAt is [chosenAt] for a value in quotes, up to the quotation mark that ends it.
func quotedAt(text []byte, p pair, quote byte) (lex.Span, chosenForm) {
	value := lex.Between(p.value.Start, p.value.Start+max(bytes.IndexAny(text[p.value.Start:min(len(text), p.value.Start+maxPhrase)], "\n\"'`\\"), 0))
	end := lex.Past(text, value.End, "\\", 8)
	if end >= len(text) || text[end] != quote || end+1 < len(text) && text[end+1] == ':' {
		return value, noForm
	}
	isCommand := definesBefore.Match(text[max(p.name.Start-16, 0):p.name.Start])
	switch sign := text[p.sign-1]; {
	case isCommand, isFlag(p.name.In(text)), isVariable(p.name.In(text)) && sign == '=':
		return value, literalForm
	case sign == ',':
		return value, noForm
	case sign == ' ':
		return value, memberForm
	}
	return value, quotedForm
}

// definesBefore matches what stands before a name that is given the value after it: #define X "…",
// define('X', '…'), WITH PASSWORD '…', : PSK "…".
var definesBefore = regexp.MustCompile("(?i:define(?: |\\( ?[\\\\\"']*)|(?:with|encrypted|set|by) |: )$")

// isArgumentEnd reports whether an argument of a command ends at a place, and is not the name of one in
// a help text.
func isArgumentEnd(text []byte, at int) bool {
	return at == len(text) || text[at] != ']' && text[at] != '>' && text[at] != '.' && !bytes.HasPrefix(text[at:], []byte("  ")) && !bytes.HasPrefix(text[at:], []byte(`\t`))
}

// isPairBegin reports whether a pair among others begins at a place.
func isPairBegin(text []byte, at int) bool {
	return at == 0 || strings.IndexByte(" ,;\"'\n\t", text[at-1]) >= 0 || bytes.HasSuffix(text[:at], []byte(`\n`)) || bytes.HasSuffix(text[:at], []byte(`\t`))
}

// isPairEnd reports whether a pair ends at a place.
func isPairEnd(text []byte, at int) bool {
	return at == len(text) || strings.IndexByte(" ,;}\"'\n\r\\", text[at]) >= 0
}

// isDirectiveOfHost reports whether a line is an entry for a host or a user that ends with a password:
// neighbor 10.0.0.1 password X, machine h login u password X.
func isDirectiveOfHost(text []byte, p pair) bool {
	line, end := lineAround(text, p)
	if end != p.value.End {
		return false
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(line.In(text), " "), []byte(" "))
	return p.name.Start == line.Start && !lex.IsUpper(text[line.Start]) || hostDirectives[string(first)] ||
		bytes.Contains(text[max(p.name.Start-names.MaxLength, 0):p.name.Start], []byte("login "))
}

// hostDirectives are the first words of such lines.
var hostDirectives = lex.Set("neighbor username machine enable default")

// lookAtShared looks at the secret of a connection in a line of ipsec.secrets, behind its kind at a place.
func (w *search) lookAtShared(at int) {
	name := lex.Between(at, at+len("EAP"))
	p := pair{name: name, sign: name.End + 1, value: valueAt(w.text, name.End+1)}
	w.addChosenAt(p)
}

// addChosenLine adds the only line of a block of YAML, whose next line begins at a place.
func (w *search) addChosenLine(p pair, line lex.Span, next int) {
	isOnly := lex.Past(w.text, next, " ", 1) == next
	if v := line.In(w.text); isOnly && p.class == names.Strong && names.IsPassword(p.name.In(w.text)) && settingForm.accepts(values.WordingOf(string(v))) {
		w.add(Secret{Name: p.name, Value: line, IsWords: true})
	}
}

// isInConnection reports whether a pair is one of those that say how to connect to a database:
// Server=h;Uid=u;Pwd=X, host=h user=u password=X.
func isInConnection(text []byte, p lex.Span) bool {
	return connectionBefore.Match(text[max(p.Start-maxConnection, 0):p.Start]) || connectionAfter.Match(text[p.End:min(p.End+maxUser, len(text))])
}

var (
	connectionBefore = regexp.MustCompile(`(?i:server|data source|host|uid|user id|user|database|dbname|initial catalog)=[^;\s"'()]{1,64}(?:;[^"'\n]*| (?:\w+=[^\s"'()]+ )*)$`)
	connectionAfter  = regexp.MustCompile(`^[; ] ?(?i:server|data source|host|uid|user id|user|database|dbname|initial catalog)=[^\s"'()]`)
)

// maxConnection is how much of a text before a pair is looked at for others of a connection, in bytes.
const maxConnection = 160
