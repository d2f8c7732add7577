package redact

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// draft is a text that is being redacted. Unless it is the redactor's own, it is copied at
// the first change, so a body without secrets costs no memory.
type draft struct {
	b            []byte
	index        *jsonscan.Index // of the text as it came
	own, changed bool
}

// overwriteAt writes text over the bytes from at.
func (d *draft) overwriteAt(at int, text string) {
	if !d.own {
		d.b, d.own = bytes.Clone(d.b), true
	}
	d.changed = copy(d.b[at:], text) > 0 || d.changed
}

// redactText replaces the known secrets in s.
func (r *Redactor) redactText(s string, m *matcher) string {
	d := draft{b: []byte(s), own: true}
	r.replaceReflections(&d, m)
	return string(d.b)
}

// redactBody takes the credentials and known secrets out of d, whose length stays. It
// replaces secrets that stand in one piece, and secrets that a streamed reply cuts into
// deltas.
func (r *Redactor) redactBody(d *draft, credentials []lex.Span, m *matcher) {
	found := make([]string, len(credentials))
	for i, s := range credentials {
		found[i] = string(s.In(d.b)) // one may stand inside another
	}
	for i, was := range found {
		if !values.IsPseudonym(values.WithoutScheme(was)) {
			d.overwriteAt(credentials[i].Start, r.replaceSecret(was))
		}
	}
	if !m.isEmpty() {
		r.replaceReflections(d, m)
		r.replaceFragments(d, m)
	}
}

// replaceReflections replaces the secrets that stand in one piece.
func (r *Redactor) replaceReflections(d *draft, m *matcher) {
	for at, found := m.nextMatch(d.b, 0); found != ""; at, found = m.nextMatch(d.b, at+len(found)) {
		d.overwriteAt(at, r.pseudonymFor(found))
	}
}

// replaceFragments replaces secrets that are spread over the values of one name,
// as a model's text is over its deltas. The raw text of the values, including
// escapes, is joined by name, searched, and written back.
func (r *Redactor) replaceFragments(d *draft, m *matcher) {
	searchJoined(d, m.longest, func(j *joinedText) {
		if len(j.pieces) < 2 {
			return // searched where it stands
		}
		for at, found := m.nextMatch(j.text, 0); found != ""; at, found = m.nextMatch(j.text, at+len(found)) {
			j.putBack(d, at, r.pseudonymFor(found))
		}
	})
}

// searchJoined joins the values of each name and searches each text, a window at a time. What
// is at most longest bytes long is whole in one window. Streams that alternate under one name
// are joined both together and separately.
func searchJoined(d *draft, longest int, search func(*joinedText)) {
	names := map[string]*namedText{}
	searchAndCut := func(j *joinedText) {
		search(j)
		j.keepTail(longest - 1)
	}
	for s := range d.index.Strings(false) {
		b := d.b // a copy once something was replaced
		if s.Value.End == s.Value.Start {
			continue
		}
		n := names[string(s.Key.In(b))]
		if n == nil {
			n = &namedText{last: s.Index}
			names[string(s.Key.In(b))] = n
		}
		n.addString(b, s, longest, searchAndCut)
	}
	for _, n := range names {
		n.searchRest(searchAndCut)
	}
}
