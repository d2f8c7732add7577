package redact

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// matcher finds any of many secrets, in any of their written forms, in one
// pass, however many there are. It is immutable.
type matcher struct {
	secrets map[string]bool
	forms   map[[head]byte][]string // longest first
	pairs   *[1 << 16]bool          // whether a form starts with these two bytes
}

// head is how many first bytes of a form are hashed. Every form is longer.
const head = 8

func newMatcher() *matcher {
	return &matcher{secrets: map[string]bool{}, forms: map[[head]byte][]string{}, pairs: new([1 << 16]bool)}
}

func (m *matcher) empty() bool            { return len(m.secrets) == 0 }
func (m *matcher) has(secret string) bool { return m.secrets[secret] }

// with returns a matcher that knows secret, too.
func (m *matcher) with(secret string) *matcher {
	out := &matcher{secrets: maps.Clone(m.secrets), forms: maps.Clone(m.forms), pairs: new([1 << 16]bool)}
	*out.pairs = *m.pairs
	out.secrets[secret] = true
	for _, f := range written(secret) {
		k := [head]byte([]byte(f[:head]))
		list := append(slices.Clone(out.forms[k]), f)
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
		out.forms[k] = slices.Compact(list)
		out.pairs[pair(k[0], k[1])] = true
	}
	return out
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// replaceIn overwrites each form of a secret in b and reports whether any was
// there.
func (m *matcher) replaceIn(b []byte, pseudonym func(string) string) (found bool) {
	for i := 0; i+head <= len(b); i++ {
		if !m.pairs[pair(b[i], b[i+1])] {
			continue
		}
		for _, f := range m.forms[[head]byte(b[i:i+head])] {
			if len(f) <= len(b)-i && string(b[i:i+len(f)]) == f {
				copy(b[i:], pseudonym(f))
				i, found = i+len(f)-1, true
				break
			}
		}
	}
	return found
}

// written returns the ways in which a secret may be written: as it is, in JSON,
// in a URL, and inside base64.
func written(secret string) []string {
	forms := []string{secret}
	forms = append(forms, jsonForms(secret)...)
	forms = append(forms, urlForms(secret)...)
	forms = append(forms, base64Forms(secret)...)
	slices.Sort(forms)
	return slices.Compact(forms)
}

func jsonForms(secret string) (out []string) {
	quoted, _ := json.Marshal(secret) // a string always marshals
	html := string(quoted[1 : len(quoted)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	for _, s := range []string{html, plain} {
		out = append(out, s, strings.ReplaceAll(s, "/", `\/`))
	}
	return out
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

// base64Forms returns what every base64 text that contains the secret contains,
// for each of the three ways it can fall on the groups of three bytes. The
// characters that depend on the neighbours are left out.
func base64Forms(secret string) (out []string) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + secret))
			first := (shift*8 + 5) / 6
			whole := (shift + len(secret)) * 8 / 6
			out = append(out, text[first:whole])
		}
	}
	return out
}
