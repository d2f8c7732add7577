package freetext

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
)

// InParameters finds the credentials in the documents that are values of parameters, as the
// queries of GraphQL are: {login(password: "…")}.
func InParameters(raw []byte, at int) (out []lex.Span) {
	for name, value := range structure.PairsIn(raw, at) {
		text := value.In(raw)
		if len(text) > jsonscan.MaxNested || structure.IsParameter(name, text) || bytes.IndexByte(text, ';') >= 0 {
			continue
		}
		d := jsonscan.DecodeURL(string(text))
		if !jsonscan.IsDocument(d.Text) {
			continue
		}
		var found []lex.Span
		secrets, _ := Search(d.Text)
		for _, s := range secrets {
			found = append(found, s.Value)
		}
		out = lex.AppendShifted(out, d.EscapedSpans(found), value.Start)
	}
	return out
}
