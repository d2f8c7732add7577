package gate

import (
	"bytes"
	_ "embed"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// gitleaksRules are the rules of gitleaks v8.30.0, config/gitleaks.toml, unchanged.
// Copyright (c) 2019 Zachary Rice, MIT License: gitleaks.LICENSE.
//
//go:embed gitleaks.toml
var gitleaksRules []byte

// ownRules are the kinds of keys that gitleaks lacks, in its format.
//
//go:embed kinds.toml
var ownRules []byte

// withoutContext are the rules that are left out. The first ones take any value after
// a word like "key" for a secret; a conversation about keys would lose its recording. The
// others are covered by a family that looks closer.
var withoutContext = []string{"generic-api-key", "kubernetes-secret-yaml", "curl-auth-header", "curl-auth-user", "jwt",
	"jwt-base64", "private-key"}

// alsoAllowed are expressions for what a rule finds and is none, by the ids of rules.
// hashicorp-tf-password is for files of Terraform; in other texts single words and names
// stand in quotes after "password".
var alsoAllowed = map[string]string{
	"hashicorp-tf-password": `(?i:passw|secret|token|login|user|name|key|field)|^"(?:[a-z_=-]+|[A-Z_=-]+|[A-Z][a-z_=-]+)"$`,
}

// tooShort are words that are in most texts: their rules are looked for by their other
// anchors.
var tooShort = []string{"s.", "ey", "api", "key", "ext_", "sc_"}

// pattern is a rule for a kind of secret that has a form but no fixed beginning.
type pattern struct {
	id               string
	compiled         func() *regexp.Regexp
	mayFollowLetters bool // the secret begins with the anchor, so it may follow a letter
	isContext        bool // the secret follows the anchor and a sign, as in "acme_key = …"
	isAtStart        bool // what the expression matches begins with the anchor
	group            int
	entropy          float64
	allowed          []*regexp.Regexp
	stopwords        []string
}

// patterns finds rules by their anchors: words, in lower case, one of which stands in or
// beside every secret of the rule.
type patterns struct {
	first    heads
	bucketOf [1 << 15]uint8 // of the anchors that begin with three bytes, by their hash; 0 for none
	buckets  [][]anchor
}

type anchor struct {
	word string
	rule *pattern
}

// loadPatterns reads the rules once, when the first text is searched.
var loadPatterns = sync.OnceValue(func() *patterns {
	var file struct {
		Rules []struct {
			ID          string
			Regex       string
			Keywords    []string
			Entropy     float64
			SecretGroup int
			Allowlists  []struct {
				Regexes     []string
				RegexTarget string
				StopWords   []string
			}
		}
	}
	if err := toml.Unmarshal(slices.Concat(gitleaksRules, ownRules), &file); err != nil {
		panic(err) // it is part of the program
	}
	out := &patterns{buckets: make([][]anchor, 1)}
	for _, r := range file.Rules {
		if r.Regex == "" || slices.Contains(withoutContext, r.ID) {
			continue
		}
		p := &pattern{id: r.ID, group: r.SecretGroup, entropy: r.Entropy}
		for _, list := range r.Allowlists {
			p.stopwords = append(p.stopwords, list.StopWords...)
			for _, text := range list.Regexes {
				p.allowed = append(p.allowed, regexp.MustCompile(text))
			}
		}
		if text := alsoAllowed[r.ID]; text != "" {
			p.allowed = append(p.allowed, regexp.MustCompile(text))
		}
		expression := r.Regex
		rest, isContext := strings.TrimPrefix(expression, `\b`), strings.Contains(expression, anyWords)
		if isContext {
			rest = strings.ReplaceAll(expression, anyWords, "")
		}
		if beginsWith(strings.TrimPrefix(rest, "(?i)(?:"), r.Keywords) {
			expression, p.isAtStart = `\A(?:`+rest+`)`, true
		}
		p.isContext, p.mayFollowLetters = isContext, p.isAtStart && !isContext
		p.compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
		for _, word := range r.Keywords {
			for _, word := range anchorsOf(strings.ToLower(word)) {
				out.addAnchor(anchor{word, p})
			}
		}
	}
	return out
})

// anyWords begins the expressions that look for a secret by its context: what stands before
// the name, which may be nothing.
const anyWords = `[\w.-]{0,50}?`

func (p *patterns) addAnchor(a anchor) {
	k := headOf(a.word)
	p.first.add(k)
	if p.bucketOf[k] == 0 {
		p.bucketOf[k] = uint8(len(p.buckets)) //nolint:gosec // a test counts them
		p.buckets = append(p.buckets, nil)
	}
	n := p.bucketOf[k]
	p.buckets[n] = append(p.buckets[n], a)
}

// anchorsOf returns what is looked for instead of a word, which has at least three bytes.
func anchorsOf(word string) (out []string) {
	switch {
	case slices.Contains(tooShort, word):
		return nil
	case word == "sk": // and hexadecimal digits
		for _, digit := range "0123456789abcdef" {
			out = append(out, word+string(digit))
		}
		return out
	case word == "q~": // after a digit
		for _, digit := range "0123456789" {
			out = append(out, string(digit)+word)
		}
		return out
	}
	return []string{word}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// beginsWith reports whether what an expression matches begins with one of the words,
// each long enough to be there on purpose.
func beginsWith(expression string, words []string) bool {
	plain := strings.ToLower(strings.NewReplacer("(", "", "?:", "", "?i:", "", "?-i:", "", `\.`,
		".").Replace(expression))
	return slices.ContainsFunc(words,
		func(w string) bool { return len(w) >= 4 && strings.HasPrefix(plain, strings.ToLower(w)) })
}

// How far from its anchor a secret and what belongs to it reach, in bytes.
const (
	before       = 128
	after        = 1200
	afterContext = 400
	beforeSign   = 32
)

// areaOf returns where to look for a rule's secret, given that its anchor ends at end; ok
// is false when there can be none.
func (p *pattern) areaOf(text []byte, at, end int) (near area, ok bool) {
	switch {
	case p.mayFollowLetters:
		return area{at, min(at+after, len(text))}, followsFewLetters(text, at)
	case p.isContext:
		ok = bytes.ContainsAny(text[end:min(end+beforeSign, len(text))], "=>:|,?")
		near = area{max(at-before, 0), min(at+afterContext, len(text))}
		if p.isAtStart {
			near.start = at
		}
		return near, ok
	}
	return area{max(at-before, 0), min(at+after, len(text))}, true
}

// openAreas are the areas around anchors in which a rule's secret is still to be looked for.
type openAreas map[*pattern]area

// ruleAt looks for the secrets of the rules that have an anchor at text[i], whose first
// bytes have the hash k. A rule's expression is run only around its anchors, over each byte
// once, so the time is in proportion to the text.
func (s *search) ruleAt(text []byte, i int, k uint16, areas *openAreas, opaque *opaqueRuns) *Hit {
	p := loadPatterns()
	for _, a := range p.buckets[p.bucketOf[k]] {
		if !hasWordAt(text, i, a.word) {
			continue
		}
		near, ok := a.rule.areaOf(text, i, i+len(a.word))
		if !ok {
			continue
		}
		if a.rule.isAtStart { // it begins here or nowhere
			if hit := s.matchPattern(a.rule, text, near, opaque); hit != nil {
				return hit
			}
			continue
		}
		was, open := (*areas)[a.rule]
		if open && near.start <= was.end {
			(*areas)[a.rule] = area{was.start, near.end}
			continue
		}
		if open {
			if hit := s.matchPattern(a.rule, text, was, opaque); hit != nil {
				return hit
			}
		}
		if *areas == nil {
			*areas = openAreas{}
		}
		(*areas)[a.rule] = near
	}
	return nil
}

// searchAreas looks for the secrets of rules in the areas that are left.
func (s *search) searchAreas(text []byte, areas openAreas, opaque *opaqueRuns) *Hit {
	for rule, last := range areas {
		if hit := s.matchPattern(rule, text, last, opaque); hit != nil {
			return hit
		}
	}
	return nil
}

// area is a range of a text.
type area struct{ start, end int }

func hasWordAt(text []byte, at int, word string) bool {
	if at < 0 || len(text)-at < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(text[at+i]) != word[i] {
			return false
		}
	}
	return true
}

// matchPattern runs a rule's expression over an area, up to the end of the word there if that
// is near.
func (s *search) matchPattern(p *pattern, text []byte, near area, opaque *opaqueRuns) *Hit {
	for most := min(near.end+after, len(text)); near.end < most && isWordByte(text[near.end]); {
		near.end++
	}
	most := -1
	if p.isAtStart {
		most = 1 // what begins behind it has an anchor of its own
	} else {
		s.read += near.end - near.start
	}
	for _, m := range p.compiled().FindAllSubmatchIndex(text[near.start:near.end], most) {
		start, end := near.start+m[0], near.start+m[1]
		if n := p.secretGroup(m); n > 0 {
			start, end = near.start+m[2*n], near.start+m[2*n+1]
		}
		if p.isAllowed(text[start:end]) {
			continue
		}
		for most := min(len(text), start+maxKey); end < most && isWordByte(text[end]); {
			end++ // so that the digest is that of the word, whichever rule finds it
		}
		if opaque.has(start) {
			continue
		}
		secret := text[start:end]
		s.read += len(secret)
		if p.isAllowed(secret) || s.exempt[textDigest(secret)] {
			continue
		}
		return newHit("a secret of the kind "+p.id, secret)
	}
	return nil
}

// secretGroup returns the group that holds the secret: the rule's, or the first that
// matched; 0 for all.
func (p *pattern) secretGroup(m []int) int {
	if p.group > 0 && 2*p.group+1 < len(m) && m[2*p.group] >= 0 {
		return p.group
	}
	for n := 1; 2*n+1 < len(m); n++ {
		if m[2*n] >= 0 && m[2*n+1] > m[2*n] {
			return n
		}
	}
	return 0
}

// isAllowed reports whether a text is an example, a word, or a pseudonym.
func (p *pattern) isAllowed(secret []byte) bool {
	if bytes.Contains(secret, []byte("REDACTED")) || shannon(secret) <= p.entropy {
		return true
	}
	low := strings.ToLower(string(secret))
	return slices.ContainsFunc(p.allowed, func(r *regexp.Regexp) bool { return r.Match(secret) }) ||
		slices.ContainsFunc(p.stopwords, func(w string) bool { return strings.Contains(low, strings.ToLower(w)) })
}

// shannon returns the entropy of a text in bits a byte, as gitleaks counts it.
func shannon(text []byte) (bits float64) {
	var count [256]int
	for _, c := range text {
		count[c]++
	}
	for _, n := range count {
		if n > 0 {
			share := float64(n) / float64(len(text))
			bits -= share * math.Log2(share)
		}
	}
	return bits
}

// followsFewLetters reports whether text[i:] begins a word, or stands after
// a few letters. Inside a long run of such letters it is there by chance.
func followsFewLetters(text []byte, i int) bool {
	start := i
	for start > 0 && i-start <= maxLettersBefore && isWordByte(text[start-1]) {
		start--
	}
	return i-start <= maxLettersBefore
}

func isWordByte(c byte) bool { return isAlphanumeric(c) || c == '-' || c == '_' }

// maxLettersBefore is how many letters may stand before a key in the same word.
const maxLettersBefore = 12
