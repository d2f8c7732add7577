package freetext

import (
	_ "embed"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

//go:embed rules.toml
var rulesText []byte

// rule is a form in which texts show a credential: an entry of rules.toml, which describes the fields.
type rule struct {
	ID, Example                            string
	Words, Near, Ahead                     []string
	Weak, Chosen                           bool
	Name, Before, After, Then, Each, Place string

	name, before, after, then, each *regexp.Regexp
	first                           *[256]bool // the bytes with which what after matches can begin
}

// ruleSet are the rules of rules.toml, with what finds them.
type ruleSet struct {
	atNames  []*rule
	all      []*rule
	prefix   *regexp.Regexp // what a value has before the credential in it
	stems    [1 << 9]uint64 // the codes of three bytes with which anchors begin: fits into the processor's first cache
	buckets  [][]anchor
	bucketOf [1 << 15]uint8 // of the anchors with a code; 0 for none
	first    [256]bool      // the bytes that may follow a name at which a rule matches
}

// anchor is a word at which rules are tried: a part of names (isStem), the word of one rule, or a name as it is.
type anchor struct {
	word   string
	isStem bool
	rule   *rule
}

// loadRules reads the rules once, when the first text is searched.
var loadRules = sync.OnceValue(func() *ruleSet {
	var file struct {
		Stems, Passwords []string
		Prefix           string
		Macros           map[string]string
		Rules            []*rule
	}
	if err := toml.Unmarshal(rulesText, &file); err != nil {
		panic(err) // it is part of the program
	}
	macros := []string{}
	for name, text := range file.Macros {
		macros = append(macros, "{"+name+"}", text)
	}
	expand := strings.NewReplacer(macros...)
	compile := func(prefix, text, suffix string) *regexp.Regexp {
		if text == "" {
			return nil
		}
		return regexp.MustCompile(prefix + expand.Replace(expand.Replace(text)) + suffix)
	}
	sames := map[string]*rule{} // rules with the same after share its expression, which then runs once at a place
	out := &ruleSet{all: file.Rules, prefix: compile("^(?:", file.Prefix, ")"), buckets: make([][]anchor, 1)}
	for _, r := range file.Rules {
		r.name, r.each = compile("^(?:", r.Name, ")$"), compile("", r.Each, "")
		r.before, r.then = compile("(?:", r.Before, ")$"), compile("^(?:", r.Then, ")")
		if same := sames[r.After]; same != nil {
			r.after, r.first = same.after, same.first
		} else {
			r.after, sames[r.After] = compile("^(?:", r.After, ")"), r
			r.first = firstBytes(r.after.String())
		}
		for _, word := range r.Words {
			out.addAnchor(anchor{word: word, rule: r})
		}
		if r.Words == nil {
			out.atNames = append(out.atNames, r)
			for c, isFirst := range r.first {
				out.first[c] = out.first[c] || isFirst || c == '\\'
			}
		}
	}
	for _, word := range file.Passwords {
		out.addAnchor(anchor{word: word})
	}
	for _, word := range append(file.Stems, base64Object, "://") {
		out.addAnchor(anchor{word: word, isStem: word != base64Object && word != "://"})
	}
	for _, list := range out.buckets {
		slices.SortStableFunc(list, func(a, b anchor) int { return len(b.word) - len(a.word) })
	}
	return out
})

// firstBytes returns the bytes with which a match of an expression can begin: all, if it can be empty.
func firstBytes(text string) *[256]bool {
	first := [256]bool{}
	parsed, _ := syntax.Parse(text, syntax.Perl)
	program, _ := syntax.Compile(parsed.Simplify())
	seen := map[uint32]bool{}
	var follow func(at uint32)
	follow = func(at uint32) {
		if seen[at] {
			return
		}
		seen[at] = true
		switch step := &program.Inst[at]; step.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			follow(step.Out)
			follow(step.Arg)
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			for c := range first {
				first[c] = first[c] || c >= utf8.RuneSelf || step.MatchRune(rune(c))
			}
		case syntax.InstMatch:
			for c := range first {
				first[c] = true
			}
		default:
			follow(step.Out)
		}
	}
	follow(uint32(program.Start))
	return &first
}

func (s *ruleSet) addAnchor(a anchor) {
	stem := nextStem(nextStem(nextStem(0, a.word[0]), a.word[1]), a.word[2])
	s.stems[stem>>6] |= 1 << (stem & 63)
	if s.bucketOf[stem] == 0 {
		s.bucketOf[stem] = uint8(len(s.buckets)) //nolint:gosec // there are about a hundred
		s.buckets = append(s.buckets, nil)
	}
	n := s.bucketOf[stem]
	s.buckets[n] = append(s.buckets[n], a)
}

// nextStem returns the code of the last three bytes of a text, small and capital letters alike, given the one
// before its last byte.
func nextStem(stem uint16, c byte) uint16 { return (stem<<5 | uint16(c&31)) & (1<<15 - 1) }

// placeUnder says what a rule's place means under a name: people choose what stands there, or machines make it.
func (r *rule) placeUnder(isChosen bool) values.Place {
	at := 0
	if isChosen {
		at = 1
	}
	return map[string][2]values.Place{
		"any":     {values.AnyPlace, values.AnyPlace},
		"spoken":  {values.SpokenPlace, values.PasswordPlace},
		"key":     {values.KeyPlace, values.PasswordPlace},
		"line":    {values.LiteralKeyPlace, values.LinePlace},
		"literal": {values.LiteralKeyPlace, values.LiteralPlace},
	}[r.Place][at]
}
