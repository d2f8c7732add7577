package redact

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// matcher finds any of many secrets, in any of their written forms, in one pass.
// It is immutable.
type matcher struct {
	// layers hold the secrets, the older ones first. Each has more than twice as many as the
	// next, so to add a secret does not copy all that are known.
	layers  []*layer
	heads   *heads
	longest int // bytes of the longest form
}

// layer is a part of the secrets of a matcher.
type layer struct {
	secrets map[string]bool
	forms   map[[head]byte][]form // longest first
}

// form is one way to write a secret. A short one counts only as a whole word.
type form struct {
	text string
	word bool
}

// maxForm is how much of a secret, in bytes, must stand in a text to be found there. Of
// a longer one what follows is replaced as far as it is the same, unless it is cut into
// deltas: then the rest of it stays.
const maxForm = 16 << 10

// head is how many leading bytes of a form are hashed. No form is shorter.
const head = 8

// heads tells quickly that no form begins somewhere: by the first two bytes, and if they
// are those of a form, by a hash of the first four. Both fit into the processor's first cache.
type heads struct {
	pairs [1 << 10]uint64
	fours [1 << 12]uint64
}

// fourOf hashes the first four bytes.
func fourOf(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 2654435761 >> 14 }

// add adds the head of a form.
func (h *heads) add(b []byte) {
	pair, four := binary.BigEndian.Uint16(b), fourOf(b)
	h.pairs[pair>>6] |= 1 << (pair & 63)
	h.fours[four>>6] |= 1 << (four & 63)
}

func (h *heads) hasPair(a, b byte) bool {
	pair := uint16(a)<<8 | uint16(b)
	return h.pairs[pair>>6]>>(pair&63)&1 != 0
}

func (h *heads) hasFour(b []byte) bool {
	four := fourOf(b)
	return h.fours[four>>6]>>(four&63)&1 != 0
}

func (m *matcher) isEmpty() bool { return len(m.layers) == 0 }

// knows reports whether a secret is looked for.
func (m *matcher) knows(secret string) bool {
	return slices.ContainsFunc(m.layers, func(l *layer) bool { return l.secrets[secret] })
}

// withSecrets returns a matcher that also knows these secrets.
func (m *matcher) withSecrets(secrets ...string) *matcher {
	if len(secrets) == 0 {
		return m
	}
	table := *m.heads
	out := &matcher{layers: slices.Clone(m.layers), heads: &table, longest: m.longest}
	added := &layer{secrets: map[string]bool{}, forms: map[[head]byte][]form{}}
	for _, secret := range secrets {
		added.secrets[secret] = true
		for _, f := range secretForms(secret) {
			added.addForm(f)
			out.heads.add([]byte(f.text[:head]))
			out.longest = max(out.longest, min(len(f.text), maxForm))
		}
	}
	for n := len(out.layers); n > 0 && len(out.layers[n-1].secrets) <= 2*len(added.secrets); n-- {
		added.addLayer(out.layers[n-1])
		out.layers = out.layers[:n-1]
	}
	out.layers = append(out.layers, added)
	return out
}

// addForm adds a form to a layer that nobody else has yet.
func (l *layer) addForm(f form) {
	k := [head]byte([]byte(f.text[:head]))
	list := l.forms[k]
	list = append(list, f)
	for i := len(list) - 1; i > 0 && len(list[i-1].text) < len(f.text); i-- {
		list[i-1], list[i] = f, list[i-1]
	}
	l.forms[k] = list
}

// addLayer adds all of another layer.
func (l *layer) addLayer(other *layer) {
	maps.Copy(l.secrets, other.secrets)
	for k, list := range other.forms {
		if l.forms[k] == nil {
			l.forms[k] = slices.Clone(list)
			continue
		}
		for _, f := range list {
			l.addForm(f)
		}
	}
}

// nextMatch finds the first form of a secret in b from at, or "".
func (m *matcher) nextMatch(b []byte, at int) (int, string) {
	for i := at; i+head <= len(b); i++ {
		if !m.heads.hasPair(b[i], b[i+1]) || !m.heads.hasFour(b[i:]) {
			continue
		}
		longest := ""
		for _, l := range m.layers {
			if found := l.matchAt(b, i); len(found) > len(longest) {
				longest = found
			}
		}
		if longest != "" {
			return i, longest
		}
	}
	return len(b), ""
}

// matchAt returns the longest form that begins at a place, or "".
func (l *layer) matchAt(b []byte, i int) string {
	for _, f := range l.forms[[head]byte(b[i:i+head])] {
		end := i + f.commonLength(b[i:])
		if end > i && (!f.word || isWord(b, i, end)) {
			return f.text[:end-i]
		}
	}
	return ""
}

// commonLength returns how much of a form b begins with: all of it, or of a long one at
// least maxForm bytes; 0 for less.
func (f form) commonLength(b []byte) int {
	n := min(len(f.text), maxForm)
	if len(b) < n || string(b[:n]) != f.text[:n] {
		return 0
	}
	for n < len(f.text) && n < len(b) && b[n] == f.text[n] {
		n++
	}
	return n
}

// isWord reports whether b[start:end] is not part of a longer word.
func isWord(b []byte, start, end int) bool {
	return (start == 0 || strings.IndexByte(lex.Alphabet, b[start-1]) < 0 || endsInEscape(b[:start])) &&
		(end == len(b) || strings.IndexByte(lex.Alphabet, b[end]) < 0)
}

// endsInEscape reports whether a text ends in the code of another character: \n, %3D, \u0022.
func endsInEscape(b []byte) bool {
	return len(b) >= 2 && b[len(b)-2] == '\\' || len(b) >= 3 && b[len(b)-3] == '%' ||
		len(b) >= 6 && b[len(b)-6] == '\\' && b[len(b)-5] == 'u'
}
