package redact

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// Own are the user's rules: what else is a credential, and what is not. A rule is the
// name of a header, a parameter or a member of a JSON document (PARENT.NAME for the
// members of one object only), or a regular expression between slashes.
type Own struct {
	redact, keep []*ownRule
}

type ownRule struct {
	text         string
	parent, name string         // as spellingOf writes them
	pattern      *regexp.Regexp // instead of a name
	used         atomic.Bool
}

// ParseOwn reads rules. An error names the rule and says what is wrong with it.
func ParseOwn(redact, keep []string) (*Own, error) {
	o := &Own{}
	for _, list := range []struct {
		what  string
		texts []string
		to    *[]*ownRule
	}{{"redact", redact, &o.redact}, {"keep", keep, &o.keep}} {
		for _, text := range list.texts {
			rule, err := parseOwnRule(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", list.what, text, err)
			}
			*list.to = append(*list.to, rule)
		}
	}
	for _, r := range o.redact {
		for _, k := range o.keep {
			if r.text == k.text {
				return nil, fmt.Errorf("redact and keep: %q: is in both; remove one", r.text)
			}
		}
	}
	return o, nil
}

// sampleText is what no pattern covers that can be meant: it leaves letters.
const sampleText = "Say héron-7: it's 100 % \"ok\"."

func isASCIILetter(c rune) bool { return c < 0x80 && isLetter(byte(c)) }

func parseOwnRule(text string) (*ownRule, error) {
	if strings.HasPrefix(text, "/") {
		if len(text) < 3 || !strings.HasSuffix(text, "/") {
			return nil, errors.New("a regular expression stands between slashes: /cust_[0-9]{8}/")
		}
		pattern, err := regexp.Compile(text[1 : len(text)-1])
		switch {
		case err != nil:
			return nil, fmt.Errorf("not a regular expression (RE2): %w", err)
		case pattern.MatchString(""):
			return nil, errors.New("matches the empty text, so everything; say what must be there")
		case strings.IndexFunc(pattern.ReplaceAllString(sampleText, ""), isASCIILetter) < 0:
			return nil, errors.New("matches every text; say what must be there")
		}
		return &ownRule{text: text, pattern: pattern}, nil
	}
	parent, name, dotted := strings.Cut(text, ".")
	if !dotted {
		parent, name = "", text
	}
	if name == "" || dotted && parent == "" || strings.ContainsAny(text, " \t*[]$\"/") || strings.Contains(name, ".") || len(text) > maxName {
		return nil, errors.New("use NAME, PARENT.NAME or /REGULAR EXPRESSION/")
	}
	return &ownRule{text: text, parent: spellingOf([]byte(parent)), name: spellingOf([]byte(name))}, nil
}

// Use adds the user's rules. Call it before the first interaction.
func (r *Redactor) Use(own *Own) { r.own = own }

// Unused lists the rules that nothing matched so far.
func (o *Own) Unused() (list []string) {
	if o == nil {
		return nil
	}
	for _, rule := range append(append([]*ownRule{}, o.redact...), o.keep...) {
		if !rule.used.Load() {
			list = append(list, rule.text)
		}
	}
	return list
}

// findNamed returns the rule of a list that names a member, or nil.
func findNamed(list []*ownRule, parent, name []byte) *ownRule {
	if len(list) == 0 || len(name) > maxName || len(parent) > maxName {
		return nil
	}
	spelled := spellingOf(name)
	for _, rule := range list {
		if rule.pattern == nil && rule.name == spelled && (rule.parent == "" || rule.parent == spellingOf(parent)) {
			rule.used.Store(true)
			return rule
		}
	}
	return nil
}

// matchedBy returns where the patterns of a list match text.
func matchedBy(list []*ownRule, text []byte) (out []span) {
	for _, rule := range list {
		if rule.pattern == nil {
			continue
		}
		for _, m := range rule.pattern.FindAllIndex(text, -1) {
			rule.used.Store(true)
			out = append(out, span{m[0], m[1]})
		}
	}
	return out
}

// addTo adds to the findings of a body what the rules call a credential, and leaves out
// what they keep.
func (o *Own) addTo(f findings, b []byte) findings {
	if o == nil || len(b) == 0 {
		return f
	}
	var found, kept []span
	seen := false
	for s := range jsonStrings(b, false) {
		text := s.value.bytesIn(b)
		if seen = true; len(text) == 0 {
			continue
		}
		if findNamed(o.keep, s.parent.bytesIn(b), s.key.bytesIn(b)) != nil {
			kept = append(kept, s.value)
		}
		kept = appendShifted(kept, matchedBy(o.keep, text), s.value.start)
		if findNamed(o.redact, s.parent.bytesIn(b), s.key.bytesIn(b)) != nil {
			found = append(found, s.value)
		}
		found = appendShifted(found, matchedBy(o.redact, text), s.value.start)
	}
	if !seen {
		found = pairsNamed(b, 0, found, o.isNamed)
		kept = pairsNamed(b, 0, kept, func(name string) bool { return findNamed(o.keep, nil, []byte(name)) != nil })
		kept, found = append(kept, matchedBy(o.keep, b)...), append(found, matchedBy(o.redact, b)...)
	}
	f.own = withoutSpans(found, kept)
	f.credentials, f.said = append(withoutSpans(f.credentials, kept), f.own...), withoutSpans(f.said, kept)
	return f
}

func shifted(parts []span, offset int) []span { return appendShifted(nil, parts, offset) }

func appendShifted(out, parts []span, offset int) []span {
	for _, p := range parts {
		out = append(out, span{offset + p.start, offset + p.end})
	}
	return out
}

// withoutSpans leaves out the spans that lie inside one of kept.
func withoutSpans(spans, kept []span) (out []span) {
	if len(kept) == 0 {
		return spans
	}
	slices.SortFunc(kept, func(a, b span) int { return a.start - b.start })
	reach := make([]int, len(kept)) // how far the first ones go
	for i, k := range kept {
		reach[i] = max(k.end, reach[max(i-1, 0)])
	}
	for _, s := range spans {
		n, _ := slices.BinarySearchFunc(kept, s.start+1, func(k span, start int) int { return k.start - start })
		if n == 0 || reach[n-1] < s.end {
			out = append(out, s)
		}
	}
	return out
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
		if s.start == 0 && s.end == len(value) {
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
		spans = pairsNamed([]byte(raw), at+1, spans, o.isNamed)
	}
	for _, s := range spans {
		out = append(out, raw[s.start:s.end])
	}
	for name, values := range h {
		for _, v := range values {
			if o.isNamed(name) {
				out = append(out, withoutScheme(v))
			}
			for _, s := range matchedBy(o.redact, []byte(v)) {
				out = append(out, v[s.start:s.end])
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
	for name, values := range h {
		if len(values) == 0 || !o.Keeps(name, values[0]) {
			out[name] = values
		}
	}
	return out
}

// urlSpans finds the credentials in a URL, by structure and by the rules.
func (o *Own) urlSpans(raw string) []span {
	found := urlSecrets(raw)
	if o == nil {
		return found
	}
	at := strings.IndexAny(raw, "?#") + 1
	kept := matchedBy(o.keep, []byte(raw))
	if at > 0 {
		found = pairsNamed([]byte(raw), at, found, o.isNamed)
		kept = pairsNamed([]byte(raw), at, kept, func(name string) bool { return findNamed(o.keep, nil, []byte(name)) != nil })
	}
	found = withoutSpans(append(found, matchedBy(o.redact, []byte(raw))...), kept)
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	return found
}
