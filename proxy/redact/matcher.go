package redact

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// matcher finds any of many secrets, in any of their written forms, in one pass.
// It is immutable.
type matcher struct {
	secrets map[string]bool
	forms   map[[head]byte][]form // longest first
	pairs   *pairs
	longest int // bytes of the longest form
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

// pairs is the set of the first two bytes of all forms. It fits into the
// processor's first cache.
type pairs [1 << 10]uint64

func pairOf(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func (p *pairs) add(n uint16)      { p[n>>6] |= 1 << (n & 63) }
func (p *pairs) has(n uint16) bool { return p[n>>6]>>(n&63)&1 != 0 }

func newMatcher() *matcher {
	return &matcher{secrets: map[string]bool{}, forms: map[[head]byte][]form{}, pairs: new(pairs)}
}

func (m *matcher) isEmpty() bool            { return len(m.secrets) == 0 }
func (m *matcher) knows(secret string) bool { return m.secrets[secret] }

// withSecrets returns a matcher that also knows these secrets.
func (m *matcher) withSecrets(secrets ...string) *matcher {
	table := *m.pairs
	out := &matcher{secrets: maps.Clone(m.secrets), forms: maps.Clone(m.forms), pairs: &table, longest: m.longest}
	for _, secret := range secrets {
		out.secrets[secret] = true
		for _, f := range secretForms(secret) {
			out.addForm(f)
		}
	}
	return out
}

// addForm adds a form to a matcher that withSecrets makes. Lists are shared with
// other matchers, so it copies them.
func (m *matcher) addForm(f form) {
	k := [head]byte([]byte(f.text[:head]))
	list := append(slices.Clone(m.forms[k]), f)
	slices.SortStableFunc(list, func(a, b form) int { return len(b.text) - len(a.text) })
	m.forms[k] = list
	m.pairs.add(pairOf(k[0], k[1]))
	m.longest = max(m.longest, min(len(f.text), maxForm))
}

// nextMatch finds the first form of a secret in b from at, or "".
func (m *matcher) nextMatch(b []byte, at int) (int, string) {
	for i := at; i+head <= len(b); i++ {
		if !m.pairs.has(pairOf(b[i], b[i+1])) {
			continue
		}
		for _, f := range m.forms[[head]byte(b[i:i+head])] {
			end := i + f.commonLength(b[i:])
			if end > i && (!f.word || isWord(b, i, end)) {
				return i, f.text[:end-i]
			}
		}
	}
	return len(b), ""
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

// endsInEscape reports whether a text ends in the code of another character: \n, %3D.
func endsInEscape(b []byte) bool {
	return len(b) >= 2 && b[len(b)-2] == '\\' || len(b) >= 3 && b[len(b)-3] == '%'
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
	return out
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
