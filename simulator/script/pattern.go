package script

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// matchPattern is a text that a schema's pattern takes: word when it does, else the
// shortest of its own. A pattern that Go cannot read, or whose assertions cannot
// be met this way, leaves word as it is.
func matchPattern(pattern, word string) string {
	re, err := regexp.Compile(pattern)
	if err != nil || re.MatchString(word) {
		return word
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return word
	}
	var out strings.Builder
	spellPattern(&out, tree, maxDepth)
	if !re.MatchString(out.String()) {
		return word
	}
	return out.String()
}

// maxRepeat bounds what a pattern can make one write.
const maxRepeat = 256

func spellPattern(out *strings.Builder, re *syntax.Regexp, depth int) {
	if depth == 0 || out.Len() > 1<<12 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		out.WriteRune(ordinaryRune(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		spellPattern(out, re.Sub[0], depth-1)
	case syntax.OpRepeat:
		for range min(re.Min, maxRepeat) {
			spellPattern(out, re.Sub[0], depth-1)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			spellPattern(out, sub, depth-1)
		}
	case syntax.OpAlternate:
		spellPattern(out, re.Sub[0], depth-1)
	default: // what may be left out, and assertions
	}
}

// ordinaryRune is a character of a class, given as pairs of first and last: a letter
// or a digit where there is one.
func ordinaryRune(class []rune) rune {
	for _, r := range "aA0_- " {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	if len(class) == 0 {
		return 'a' // nothing matches
	}
	return class[0]
}
