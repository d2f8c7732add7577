package redact

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
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

func fourOf(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 2654435761 >> 14 }

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

func newMatcher() *matcher { return &matcher{heads: new(heads)} }

func (m *matcher) isEmpty() bool { return len(m.layers) == 0 }

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
	list := append(l.forms[k], f)
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
	return (start == 0 || strings.IndexByte(alphabet, b[start-1]) < 0 || endsInEscape(b[:start])) &&
		(end == len(b) || strings.IndexByte(alphabet, b[end]) < 0)
}

// endsInEscape reports whether a text ends in the code of another character: \n, %3D, \u0022.
func endsInEscape(b []byte) bool {
	return len(b) >= 2 && b[len(b)-2] == '\\' || len(b) >= 3 && b[len(b)-3] == '%' ||
		len(b) >= 6 && b[len(b)-6] == '\\' && b[len(b)-5] == 'u'
}

// secretForms returns the ways in which a secret may be written. Of a long one, the
// beginning is written in other ways.
func secretForms(secret string) (out []form) {
	if len(secret) > maxForm {
		out = append(out, form{secret, false})
		secret = secret[:maxForm]
	}
	for _, text := range writtenForms(secret) {
		out = append(out, form{text, len(secret) < minSecret})
	}
	for _, text := range base64Forms(secret) {
		out = append(out, form{text, false})
	}
	return slices.DeleteFunc(out, func(f form) bool { return len(f.text) < head }) // \u003c is one letter in JSON
}

// writtenForms returns the readable ways to write a secret: as it is, in JSON,
// in JSON inside a JSON string, in a URL.
func writtenForms(secret string) []string {
	out := jsonForms(secret)
	for _, inner := range out {
		out = append(out, jsonForms(inner)...)
	}
	out = append(append(out, secret), urlForms(secret)...)
	slices.Sort(out)
	return slices.Compact(out)
}

func jsonForms(secret string) (out []string) {
	quoted, _ := json.Marshal(secret) // a string always marshals
	html := string(quoted[1 : len(quoted)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	for _, s := range []string{html, plain} {
		out = append(out, s, strings.ReplaceAll(s, "/", `\/`))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func urlForms(secret string) (out []string) {
	for _, s := range []string{url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")} {
		out = append(out, s, lowerHex(s))
	}
	return out
}

// lowerHex writes the digits of percent escapes in lower case.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:i+3], strings.ToLower(string(b[i:i+3])))
		}
	}
	return string(b)
}

// base64Forms returns what every base64 text that contains the secret has in
// common, for each of the three positions in a group of three bytes. Characters
// that depend on the neighbours are left out.
func base64Forms(secret string) (out []string) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + secret))
			first := (shift*8 + 5) / 6
			whole := (shift + len(secret)) * 8 / 6
			out = append(out, text[first:whole])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
