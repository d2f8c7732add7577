package gate

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// beginnings are the texts at which the gate begins to read: those of well-known keys, the
// anchors of rules, what looks like packed data.
func beginnings() map[string]bool {
	out := map[string]bool{"H4sI": true, "H4sIBAAAAAAA////": true, "eyJhbGciOi.": true,
		"/AIza" + strings.Repeat("a", 35): true}
	for _, f := range families {
		out[f.Prefix] = true
	}
	for _, bucket := range loadPatterns().buckets {
		for _, a := range bucket {
			out[a.word] = true
		}
	}
	return out
}

// A text of nothing but beginnings of secrets takes work in proportion to its length,
// whatever stands between them and around them.
func TestWorkIsLinear(t *testing.T) {
	const size, most = 32 << 10, 24 // bytes of a text, and how often each of them may be read
	for word := range beginnings() {
		for _, between := range []string{"", ".", "=", strings.Repeat("0", 34), strings.Repeat("a", 1400)} {
			unit := word + between
			text := strings.Repeat(unit, size/len(unit))
			for _, text := range []string{text, `{"signature":"` + text + `"}`,
				text[:size/4] + strings.Repeat("a", size)} {
				s := search{secrets: newSecretSet()}
				_ = s.searchEverywhere([]byte(text))
				if s.read > most*len(text) {
					t.Errorf("%.40q again and again in %.20q: %d bytes are read %d times", unit, text, len(text),
						s.read/len(text))
				}
			}
		}
	}
}

// What the expression of a rule matches is found: it begins at one of the rule's anchors.
func TestRulesByContext(t *testing.T) {
	var file struct {
		Rules []struct{ ID, Regex string }
	}
	if err := toml.Unmarshal(gitleaksRules, &file); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, r := range file.Rules {
		rule, words := ruleOf(r.ID)
		if rule == nil || !rule.isContext || !rule.isAtStart {
			continue
		}
		parsed, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		pick := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			var text strings.Builder
			writeMatch(&text, parsed, pick)
			low := strings.ToLower(text.String())
			isNear := func(word string) bool {
				at := strings.Index(low, word)
				if at < 0 {
					return false
				}
				_, ok := rule.areaOf([]byte(low), at, at+len(word))
				return ok
			}
			if rule.isAllowed([]byte(low)) || !slices.ContainsFunc(words, isNear) {
				continue
			}
			s := search{secrets: newSecretSet()}
			if tried++; s.searchText([]byte(text.String()), everything, false) == nil {
				t.Errorf("%s: not found in %q", r.ID, text.String())
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d texts tried", tried)
	}
}

// ruleOf returns a rule and its anchors.
func ruleOf(id string) (rule *pattern, words []string) {
	for _, bucket := range loadPatterns().buckets {
		for _, a := range bucket {
			if a.rule.id == id {
				rule, words = a.rule, append(words, a.word)
			}
		}
	}
	return rule, words
}

// writeMatch writes a text that an expression matches.
func writeMatch(out *strings.Builder, re *syntax.Regexp, pick *rand.Rand) {
	repeat := func(least, most int) {
		for range least + pick.IntN(most-least+1) {
			writeMatch(out, re.Sub[0], pick)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 && pick.IntN(2) == 0 {
			text = strings.ToUpper(text)
		}
		out.WriteString(text)
	case syntax.OpCharClass:
		for {
			n := 2 * pick.IntN(len(re.Rune)/2)
			if c := re.Rune[n] + pick.Int32N(min(re.Rune[n+1], unicode.MaxASCII+1)-min(re.Rune[n], unicode.MaxASCII)+1); c <= unicode.MaxASCII {
				out.WriteRune(c)
				return
			}
		}
	case syntax.OpAnyCharNotNL:
		out.WriteByte('.')
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			writeMatch(out, sub, pick)
		}
	case syntax.OpAlternate:
		writeMatch(out, re.Sub[pick.IntN(len(re.Sub))], pick)
	case syntax.OpCapture:
		repeat(1, 1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpPlus:
		repeat(1, 9)
	case syntax.OpStar:
		repeat(0, 9)
	case syntax.OpRepeat:
		repeat(re.Min, max(re.Max, re.Min))
	default: // an anchor, which matches no text, or in no rule
	}
}
