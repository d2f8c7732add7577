package freetext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// placeOf says what the place of a value says about it: the words before the name where only spaces
// are between the two, and quotes, capital letters or the beginning of a line where there is a sign.
func placeOf(text []byte, p pair) values.Place {
	word := p.name.In(text)
	switch {
	case bytes.HasSuffix(text[:p.sign], []byte("  ")) && isVariable(word):
		return values.LiteralKeyPlace // in a list of variables
	case names.IsChosen(word) && bytes.HasSuffix(text[:p.sign], []byte(" is ")):
		return values.PasswordPlace
	case text[p.sign-1] == ' ':
		return placeAfterSpace(text, p)
	}
	return placeAfterSign(text, p)
}

// placeAfterSpace is [placeOf] for a name and a value with only spaces between them.
func placeAfterSpace(text []byte, p pair) values.Place {
	word := p.name.In(text)
	switch {
	case bytes.Contains(text[max(p.name.Start-names.MaxLength, 0):p.name.Start], []byte("login ")):
		return values.LinePlace // of a .netrc
	case isSet(text, p.name.Start):
		return values.LiteralPlaceUnder(word)
	case isDirective(text, p.name, p.value):
		return linePlaceUnder(word)
	case isFlag(word):
		return values.LiteralPlaceUnder(word)
	case string(word) == "PASS" && isLastInLine(text, p.value): // of POP, FTP, IRC
		return values.LiteralPlace
	case isAfterAny(text, p.value, "\"'`"):
		return values.PasswordPlace
	}
	return values.SpokenPlace
}

// placeAfterSign is [placeOf] for a name and a value with a sign between them. A comma says least:
// the two may be elements of a list.
func placeAfterSign(text []byte, p pair) values.Place {
	word, sign := p.name.In(text), text[p.sign-1]
	switch {
	case isFlag(word), sign == ':' && isAfterAny(text, p.name, "/") && lex.IsLetter(word[0]) && isAfterAny(text, lex.Between(p.name.Start-1, p.name.End), " "), sign != ',' && isAfterAny(text, p.value, "\"'`>"), sign == '=' && bytes.Equal(bytes.ToUpper(word), word):
		return values.LiteralPlaceUnder(word)
	case sign != ',' && beginsSetting(text, p.name.Start):
		return linePlaceUnder(word)
	case names.IsChosen(word):
		return values.PasswordPlace
	}
	return values.KeyPlace
}

// isAfterAny reports whether one of the given bytes stands before a value.
func isAfterAny(text []byte, value lex.Span, any string) bool {
	return value.Start > 0 && strings.IndexByte(any, text[value.Start-1]) >= 0
}

// linePlaceUnder is the place of a value that is alone with its name in a line.
func linePlaceUnder(name []byte) values.Place {
	if names.IsChosen(name) {
		return values.LinePlace
	}
	return values.LiteralKeyPlace
}

// beginsSetting reports whether no word of a sentence stands before a place: a line begins
// there, or what a tool writes before one.
func beginsSetting(text []byte, at int) bool {
	for most := at - 40; at > 0 && at > most && strings.IndexByte(" \t", text[at-1]) >= 0; {
		at--
	}
	return at == 0 || !lex.IsLetter(text[at-1]) || at > 1 && text[at-2] == '\\'
}

// isSet reports whether a command stands before a place that sets what is named there.
func isSet(text []byte, at int) bool {
	for most := at - names.MaxLength; at > 0 && at > most && text[at-1] > ' ' && text[at-1] != '"'; {
		at-- // npm config set //registry/:_authToken X
	}
	for at > 0 && strings.IndexByte("\"\\", text[at-1]) >= 0 {
		at-- // dotnet user-secrets set "Db:Password" X
	}
	return slices.ContainsFunc(setters, func(command []byte) bool { return bytes.HasSuffix(text[:at], command) })
}

// setters are the ends of commands that set a variable or a secret.
var setters = [][]byte{[]byte("setenv "), []byte("secret set "), []byte("secrets set "), []byte("config set "), []byte("configure set "), []byte("user-secrets set ")}

// isDirective reports whether a name and a value are all of a line, as in a file of settings:
// requirepass X.
func isDirective(text []byte, name, value lex.Span) bool {
	start, end := name.Start, value.End
	for start > 0 && strings.IndexByte(" \t", text[start-1]) >= 0 {
		start--
	}
	isBegun := start == 0 || text[start-1] == '\n' || text[start-1] == '"' || bytes.HasSuffix(text[:start], []byte(`\n`))
	return isBegun && !lex.IsUpper(text[name.Start]) && (end == len(text) || strings.IndexByte("\n\r\"\\", text[end]) >= 0)
}
