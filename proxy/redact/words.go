package redact

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/freetext"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// lookIntoWords learns the credentials that stand in the texts of a body, also in pieces and in
// another coding, and in the documents in it, and adds to the findings where those are that
// stand in the body as they are. It returns those that could be a word elsewhere: they are
// secrets in this interaction only. A value with a pseudonym in it was judged when it had none,
// and must not be judged by the letters of the pseudonym. touched are all places of the body where
// something was found, whatever became of it. left are the parts of the body that are to be searched.
func (r *Redactor) lookIntoWords(
	header http.Header, body *jsonscan.Index, left []lex.Span, f *structure.Findings,
) (here []string, touched []lex.Span) {
	w, b := textSearch{own: r.own}, body.Text
	for _, text := range f.Documents {
		w.search(text, 1, true)
	}
	var spans []lex.Span
	if strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		stream := textStream{Index: body}
		for text := range stream.texts() {
			w.search(text, 1, false)
			w.searchDocument(text)
		}
		spans = stream.credentials(r.own, &w)
		w.found = append(w.found, stream.sessions()...)
	} else {
		for _, part := range left {
			spans = lex.AppendShifted(spans, w.search(part.In(b), 1, false), part.Start)
		}
		spans = append(spans, f.Said...)
		w.found = append(w.found, structure.SecretsIn(b, f.Said)...)
	}
	if touched = spans; w.isElsewhere {
		touched = []lex.Span{lex.Between(0, len(b))}
	}
	touched = slices.Clone(touched)
	r.mu.RLock()
	isNone := func(value string) bool { return strings.Contains(value, values.Mark) || r.public.has(value, true) }
	found := slices.DeleteFunc(w.found, isNone)
	spans = slices.DeleteFunc(spans, func(s lex.Span) bool { return isNone(string(s.In(b))) })
	r.mu.RUnlock()
	f.Credentials = lex.AddDisjoint(f.Credentials, spans)
	r.Learn(found...)
	here = slices.DeleteFunc(found,
		func(s string) bool { return len(s) < values.MinWord || values.IsPseudonym(s) || isLearnable(s) })
	return here, touched
}

// textSearch looks for credentials in texts, and in the texts that are written in them.
type textSearch struct {
	own         *Own
	found       []string
	isElsewhere bool // something was found in another coding, so it has no place in the text
}

// searchDocument looks for a document in a text that came in pieces.
func (t *textSearch) searchDocument(text []byte) {
	if bytes.Contains(text, []byte(`\":`)) {
		plain := jsonscan.DecodeJSON(text).Text
		t.found = append(t.found, structure.SecretsIn(plain, structure.SearchSaid(plain))...)
	}
}

// search returns where the credentials of a text are.
func (t *textSearch) search(text []byte, depth int, isDecoded bool) (spans []lex.Span) {
	secrets, coded := freetext.Search(text)
	for _, s := range secrets {
		value := string(s.Value.In(text))
		if t.own.Keeps(string(s.Name.In(text)), value) {
			continue
		}
		spans = append(spans, s.Value)
		t.found = append(append(t.found, value), freetext.Forms(value)...)
	}
	if depth > jsonscan.DeepestNested {
		return spans
	}
	for _, c := range freetext.Decode(text, coded) {
		known := len(t.found)
		t.search(c.Plain, depth+1, isDecoded)
		t.isElsewhere = t.isElsewhere || len(t.found) > known
		if isDecoded && len(t.found) > known && len(c.Written) < len(text) {
			t.found = append(t.found, string(c.Written)) // base64 in base64 has no form of what is in it
		}
	}
	return spans
}
