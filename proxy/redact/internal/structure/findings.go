// Package structure finds credentials where the structure of a message says that one is: in JSON,
// forms, parts, XML, headers, cookies, URLs, settings and command lines. It gets a body or a part of
// one and returns where the credentials are ([Findings]), or the secrets themselves. It replaces
// nothing, remembers nothing, and does not look into sentences; package freetext does.
package structure

import (
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Findings are what the body of a message shows.
type Findings struct {
	Credentials []lex.Span // where they stand in the body
	Said        []lex.Span // where those stand that are in what is said, where a name alone is not enough
	Public      []string   // the public words of the exchange
	Documents   [][]byte   // texts that stand in the body in base64
}

// dropGuessable drops spans that are not secrets: a reply has ordinary words under the names of
// credentials, too.
func dropGuessable(b []byte, spans []lex.Span) []lex.Span {
	return slices.DeleteFunc(spans, func(s lex.Span) bool { return !values.IsIssued(string(s.In(b))) })
}

// secretSpans returns those spans of a text that nobody can guess.
func secretSpans(text []byte, spans []lex.Span) []lex.Span {
	return slices.DeleteFunc(spans,
		func(s lex.Span) bool { return !values.IsSecretIn(s.In(text), values.LiteralKeyPlace) })
}

// SecretsIn returns the secrets at the spans of a body, decoded.
func SecretsIn(b []byte, spans []lex.Span) (out []string) {
	for _, s := range spans {
		text := strings.TrimSpace(lex.UnquoteJSON(s.In(b)))
		out = append(out, values.WithoutScheme(text))
		out = append(out, basicPassword(text)...)
		if plain, err := url.QueryUnescape(text); err == nil {
			out = append(out, values.WithoutScheme(plain))
		}
	}
	return out
}
