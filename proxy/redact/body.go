package redact

import (
	"bytes"
)

// draft is a text under redaction: a copy is made once there is something to
// change, so a body without secrets costs no memory.
type draft struct {
	b   []byte
	own bool
}

// put writes text over what stands at.
func (d *draft) put(at int, text string) {
	if !d.own {
		d.b, d.own = bytes.Clone(d.b), true
	}
	copy(d.b[at:], text)
}

// text replaces the known secrets in s.
func (r *Redactor) text(s string, m *matcher) string {
	d := draft{b: []byte(s), own: true}
	r.reflections(&d, m)
	return string(d.b)
}

// body returns b without credentials and known secrets, as long: b itself when
// there are none. Secrets are replaced where they stand whole, and where a
// streamed reply cuts them into deltas.
func (r *Redactor) body(b []byte, credentials []span, m *matcher) []byte {
	d := draft{b: b}
	for _, s := range credentials {
		if was := string(s.in(b)); !isPseudonym(token(was)) {
			d.put(s.start, r.replace(was))
		}
	}
	if !m.empty() {
		r.reflections(&d, m)
		r.fragments(&d, m)
	}
	return d.b
}

// reflections replaces the secrets that stand whole.
func (r *Redactor) reflections(d *draft, m *matcher) {
	for at, found := m.next(d.b, 0); found != ""; at, found = m.next(d.b, at+len(found)) {
		d.put(at, r.pseudonym(found))
	}
}

// fragments replaces secrets that are spread over the values of one name, as
// the text of a model is over its deltas. The raw text of the values, escapes
// and all, is joined by name, searched, and written back where it was. Streams
// that take turns under one name are joined once as they come and once each on
// its own.
func (r *Redactor) fragments(d *draft, m *matcher) {
	names := map[string]*strands{}
	search := func(j *joint) {
		defer j.keep(m.longest - 1)
		if len(j.pieces) < 2 {
			return // searched where it stands
		}
		for at, found := m.next(j.text, 0); found != ""; at, found = m.next(j.text, at+len(found)) {
			j.putBack(d, at, r.pseudonym(found))
		}
	}
	for s := range jsonStrings(d.b) {
		if s.value.end == s.value.start {
			continue
		}
		n := names[string(s.key.in(d.b))]
		if n == nil {
			n = &strands{last: s.index}
			names[string(s.key.in(d.b))] = n
		}
		n.add(d.b, s, m.longest, search)
	}
	for _, n := range names {
		n.end(search)
	}
}
