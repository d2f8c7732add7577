package freetext

import (
	"bytes"
	"slices"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// lists are the last words of names that may hold several credentials. Keys alone may be those of
// anything.
var lists = lex.Words("secrets tokens passwords keys cookies credentials creds codes")

// isListName reports whether a name may be that of several credentials.
func isListName(word []byte) bool {
	if word[len(word)-1]|0x20 != 's' {
		return false
	}
	return slices.ContainsFunc(lists, func(last string) bool {
		return lex.HasSuffixFold(word, last) && (last != "keys" || len(word) > len(last))
	})
}

// maxList is how much of a list of credentials is looked at, in bytes.
const maxList = 4 << 10

// lookAtList looks at the strings in a list or an object of credentials:
//
//	"secrets": {"stripe": "…"}    "tokens": ["…", "…"]    "cookies": [{"name": "sid", "value": "…"}]
func (w *search) lookAtList(name lex.Span) bool {
	text, word := w.text, name.In(w.text)
	if !isListName(word) {
		return false
	}
	at := lex.Past(text, lex.Past(text, name.End, "\"'\\ ", 8), ":= ", 4)
	at = lex.Past(text, at, " \t\r\n\\nrt", 24)
	if at <= name.End || at < w.listEnd || at == len(text) || text[at] != '[' && text[at] != '{' {
		return false
	}
	w.listEnd = listEnd(text, at)
	key := lex.Span{}
	for i := at; i < w.listEnd; i++ {
		if text[i] != '"' && text[i] != '\'' {
			continue
		}
		value := lex.Between(i+1, i+1+lex.IndexOrLength(text[i+1:w.listEnd], text[i]))
		i = value.End
		for value.End > value.Start && text[value.End-1] == '\\' {
			value.End--
		}
		if next := lex.Past(text, i+1, " ", 4); next < len(text) && text[next] == ':' {
			key = value
		} else if structure.IsCookie(word) && bytes.IndexByte(value.In(text), '=') > 0 {
			w.lookAtParameters(name, valueAt(text, value.Start-1), ";")
		} else if structure.IsCookie(word) && key.End > key.Start {
			w.addIfSecret(key, value, values.KeyPlace)
		} else {
			w.lookAtElement(key, value, names.IsCodeList(word))
		}
	}
	return true
}

// listEnd returns where the list or object at a place ends: at its bracket, where the quotation mark
// of a string is missing, or after maxList bytes.
func listEnd(text []byte, at int) int {
	depth, end := 0, min(len(text), at+maxList)
	for i := at; i < end; i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i
			}
		case '"', '\'':
			n := bytes.IndexByte(text[i+1:end], text[i])
			if n < 0 {
				return i
			}
			i += 1 + n
		}
	}
	return end
}

// lookAtElement looks at a string in a list of credentials.
func (w *search) lookAtElement(key, value lex.Span, isCode bool) {
	class, v := w.names.Class(key.In(w.text)), value.In(w.text)
	switch {
	case values.IsExpression(v):
	case isCode && values.IsOneTimeWord(v), values.HasSecretForm(string(v)),
		class == names.Strong && values.IsSecretIn(v, values.LiteralPlace),
		class != names.Public && values.IsRandom(string(v)):
		w.add(Secret{Name: key, Value: value})
	case class == names.Strong && values.EncodedPassword(string(v)) != nil:
		w.add(Secret{Name: key, Value: value})
	}
}
