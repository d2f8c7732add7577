package freetext

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// phraseAt returns the words of a password that begin with value and have spaces between them:
// up to the end of the line or of the quotes.
func phraseAt(text []byte, value lex.Span, p values.Place) (phrase lex.Span) {
	if p < values.LinePlace {
		return lex.Span{}
	}
	end := min(len(text), value.Start+maxPhrase)
	if n := bytes.IndexAny(text[value.Start:end], "\n\\\"'`"); n >= 0 {
		end = value.Start + n
	}
	phrase = lex.Between(value.Start, end)
	words := string(phrase.In(text))
	isLiteral, hasDigit := p == values.LiteralPlace, strings.ContainsAny(words, lex.Digits)
	if isLiteral && hasDigit && values.IsTitle(words, " ") {
		return phrase
	}
	first, _, _ := strings.Cut(words, " ")
	isSmall := func(s string) bool { return s == strings.ToLower(s) }
	if isSmall(first) && values.IsPhrase(words, " ") && (hasDigit || isLiteral && isSmall(words)) {
		return phrase
	}
	return lex.Span{}
}

// maxPhrase is the length of the longest phrase, in bytes: 24 words.
const maxPhrase = 240
