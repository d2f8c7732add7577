package redact

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/freetext"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// findNamed returns the rule of a list that names a member, or nil.
func findNamed(list []*ownRule, parent, name []byte) *ownRule {
	if len(list) == 0 || len(name) > names.MaxLength || len(parent) > names.MaxLength {
		return nil
	}
	spelled := names.Spelling(name)
	for _, rule := range list {
		if rule.pattern == nil && rule.name == spelled && (rule.parent == "" || rule.parent == names.Spelling(parent)) {
			rule.used.Store(true)
			return rule
		}
	}
	return nil
}

// matchedBy returns where the patterns of a list match text.
func matchedBy(list []*ownRule, text []byte) (out []lex.Span) {
	for _, rule := range list {
		if rule.pattern == nil {
			continue
		}
		for _, m := range rule.pattern.FindAllIndex(text, -1) {
			rule.used.Store(true)
			out = append(out, lex.Between(m[0], m[1]))
		}
	}
	return out
}

// bodyFindings are what a body shows, the user's rules included.
type bodyFindings struct {
	structure.Findings
	own []lex.Span // of the credentials, those that only the user's rules name
}

// addTo adds to the findings of a body what the rules call a credential, and leaves out
// what they keep.
func (o *Own) addTo(found structure.Findings, body *jsonscan.Index) bodyFindings {
	f, b := bodyFindings{Findings: found}, body.Text
	if o == nil || len(b) == 0 {
		return f
	}
	var redacted, kept []lex.Span
	seen := false
	for s := range body.Strings(false) {
		text := s.Value.In(b)
		if seen = true; len(text) == 0 {
			continue
		}
		if findNamed(o.keep, s.Parent.In(b), s.Key.In(b)) != nil {
			kept = append(kept, s.Value)
		}
		kept = lex.AppendShifted(kept, matchedBy(o.keep, text), s.Value.Start)
		if findNamed(o.redact, s.Parent.In(b), s.Key.In(b)) != nil {
			redacted = append(redacted, s.Value)
		}
		redacted = lex.AppendShifted(redacted, matchedBy(o.redact, text), s.Value.Start)
	}
	if !seen {
		redacted = structure.PairsNamed(b, 0, redacted, o.isNamed)
		kept = structure.PairsNamed(b, 0, kept,
			func(name string) bool { return findNamed(o.keep, nil, []byte(name)) != nil })
		kept, redacted = append(kept, matchedBy(o.keep, b)...), append(redacted, matchedBy(o.redact, b)...)
	}
	f.own = lex.Without(redacted, kept)
	f.Credentials, f.Said = append(lex.Without(f.Credentials, kept), f.own...), lex.Without(f.Said, kept)
	return f
}

// Keeps reports whether a rule keeps the value of a header or of a parameter.
func (o *Own) Keeps(name, value string) bool {
	return o != nil && (findNamed(o.keep, nil, []byte(name)) != nil || coversAll(o.keep, value))
}

// isNamed reports whether a rule calls a header or a parameter a credential.
func (o *Own) isNamed(name string) bool {
	return o != nil && findNamed(o.redact, nil, []byte(name)) != nil
}

// isKeptSecret reports whether a rule says of a text that it is no secret.
func (o *Own) isKeptSecret(value string) bool { return o != nil && coversAll(o.keep, value) }

// coversAll reports whether a pattern of a list matches the whole of a value.
func coversAll(list []*ownRule, value string) bool {
	for _, s := range matchedBy(list, []byte(value)) {
		if s.Start == 0 && s.End == len(value) {
			return true
		}
	}
	return false
}

// secrets returns what the rules call a credential in a URL and a header.
func (o *Own) secrets(raw string, h http.Header) (out []string) {
	if o == nil {
		return nil
	}
	spans := matchedBy(o.redact, []byte(raw))
	if at := strings.IndexAny(raw, "?#"); at >= 0 {
		spans = structure.PairsNamed([]byte(raw), at+1, spans, o.isNamed)
	}
	for _, s := range spans {
		out = append(out, raw[s.Start:s.End])
	}
	for name, lines := range h {
		for _, v := range lines {
			if o.isNamed(name) {
				out = append(out, values.WithoutScheme(v))
			}
			for _, s := range matchedBy(o.redact, []byte(v)) {
				out = append(out, v[s.Start:s.End])
			}
		}
	}
	return out
}

// withoutKept returns h without the headers that a rule keeps.
func (o *Own) withoutKept(h http.Header) http.Header {
	if o == nil || len(o.keep) == 0 {
		return h
	}
	out := http.Header{}
	for name, lines := range h {
		if len(lines) == 0 || !o.Keeps(name, lines[0]) {
			out[name] = lines
		}
	}
	return out
}

// urlSpans finds the credentials in a URL, by structure and by the rules.
func (o *Own) urlSpans(raw string) []lex.Span {
	found := structure.URLSecrets(raw)
	if at := strings.IndexAny(raw, "?#"); at >= 0 {
		found = lex.AddDisjoint(found, freetext.InParameters([]byte(raw), at+1))
	}
	if o == nil {
		return found
	}
	at := strings.IndexAny(raw, "?#") + 1
	kept := matchedBy(o.keep, []byte(raw))
	if at > 0 {
		found = structure.PairsNamed([]byte(raw), at, found, o.isNamed)
		kept = structure.PairsNamed([]byte(raw), at, kept,
			func(name string) bool { return findNamed(o.keep, nil, []byte(name)) != nil })
	}
	found = lex.Without(append(found, matchedBy(o.redact, []byte(raw))...), kept)
	slices.SortFunc(found, func(a, b lex.Span) int { return a.Start - b.Start })
	return found
}

// querySecrets returns the secrets of a URL, unescaped.
func (o *Own) querySecrets(raw string) (out []string) {
	for _, s := range o.urlSpans(raw) {
		text := raw[s.Start:s.End]
		if plain, err := url.QueryUnescape(text); err == nil && plain != text {
			out = append(out, text) // a "+" may be one
			text = plain
		}
		out = append(out, text)
	}
	return out
}

// answerSecrets returns the secrets that a response's header or trailer issues.
// Its other values are ids of the provider, which stay in bodies.
func (o *Own) answerSecrets(h http.Header) (out []string) {
	for name, lines := range h {
		lower := strings.ToLower(name)
		for _, v := range lines {
			switch {
			case lower == "location":
				out = append(out, o.querySecrets(v)...)
			case structure.AddressHeaders[lower]:
				out = append(out, structure.AddressesIn(v)...)
			case structure.IsCredentialHeader(lower):
				for _, word := range append(structure.HeaderWordsOf(v), values.WithoutScheme(v)) {
					if values.IsIssued(word) {
						out = append(out, word)
					}
				}
			}
		}
	}
	return out
}
