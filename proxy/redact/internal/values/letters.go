package values

import (
	"math/bits"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// letterPairs says how many half bits a letter takes after another one in the words of Go's
// standard library, in base 36: rows are the letter before, columns the next one. Both begin
// with the border of a word.
var letterPairs = [27]string{
	"u798b98cd7jha9a89h877aac9ih", // the border
	"9hb97icaoclb687nbj6669chdep", // a
	"68bcf6dhm79o7ij8ei7af7ihj6j", // b
	"56hcg8ge7cq7abh5cjcd7cdkkhr", // c
	"2bfd76ghm8jmcigagdbagcfdeel", // d
	"39ga8ddbmgqlba8hde677iecbgo", // e
	"3aifda5im8ssadf7epacc8lklgp", // f
	"3dgbi6hfa9snega7cjb6bdijmmj", // g
	"46kjf3jkm7uoegl8kpbeadoitim", // h
	"cde9ac7aqknj8a39cmb77pcnfsb", // i
	"27mff6ghmhqiibf9hqk6f7mfjup", // j
	"19kjh5ibj9rpggchglmbfdkjmjt", // k
	"58iea5egi7uj7hi6hig998ggmbk", // l
	"55ci75llj9ujgbi77mkbcaimmmu", // m
	"59j878d8n9pdehe9glk84ddlpfm", // n
	"6ab9ag8epcqdaa6b6u6aa99ckpr", // o
	"47gcd6ghebrdadl7aj797ahiidu", // p
	"2hd8dighfhrnbehjgbbbg3ffiie", // q
	"59jcd4e9l8qffb88ik8aaafijdq", // r
	"3bhbg5jgb8taddhbbhea5amek9l", // s
	"39jch7gj68umffk8cl7ae8kge9l", // t
	"bdbbe6adn7rr8b5ibj588pkl7tk", // u
	"64dca4dhgaqndahd7ddbcgecbsh", // v
	"47hce6ii75sofib8fi6bggkijum", // w
	"4898983nndrokgneakig8ifkhhr", // x
	"3jjfkdjmpdpod6ah4td77lpkhnj", // y
	"7bhch1kni7mqhfhcgqbhlihfchc", // z
}

// shortWords is how many half bits more a word of so many letters takes: few words have only
// one or two, but random letters in both cases look like many of them.
var shortWords = [3]int{0, 12, 6}

const (
	leastSurprise  = 5  // how many bits fewer letters must take as random ones than as words
	leastLetters   = 10 // how many letters it takes to tell
	leastDifferent = 7  // … and different ones: xxxxxxxxxxxx is neither
)

// IsRandomLetters reports whether a value is letters, and these are much more likely random
// than words: kXbWqTnPzLmRvJc, not getUserToken.
func IsRandomLetters(v string) bool { return letterSurprise(v) >= leastSurprise }

// IsOddLetters reports whether letters may be random ones.
func IsOddLetters(v []byte) bool { return letterSurprise(string(v)) > 0 }

// letterSurprise returns how many bits fewer the letters of a value take as random ones than
// as words. It is 0 for what is too short or has hardly any letters.
func letterSurprise(v string) float64 { return surpriseOf(v, max(leastLetters, len(v)*7/8)) }

// surpriseOf is letterSurprise for a value that has at least so many letters; 0 for another
// one, and for one with signs that base64 does not have.
func surpriseOf(v string, least int) float64 {
	if len(v) < least {
		return 0
	}
	var words letterCount
	for i := range len(v) {
		switch c := v[i]; {
		case lex.IsDigit(c):
			words.previous, words.length = 0, 0
		case !lex.IsLetter(c):
			if strings.IndexByte("+/=", c) < 0 {
				return 0
			}
			words.endWord()
		case lex.IsUpper(c) && i > 0 &&
			(!lex.IsUpper(v[i-1]) || i+1 < len(v) && lex.IsLetter(v[i+1]) && !lex.IsUpper(v[i+1])):
			words.endWord() // as in getUser
			words.addLetter(c)
		default:
			words.addLetter(c)
		}
	}
	words.endWord()
	random, joined := 4.7, 3.0 // bits a letter, and for borders that "servicekey" leaves out
	if words.cases == 3 {
		random, joined = 5.7, 0
	}
	if words.letters < least || bits.OnesCount(words.seen) < leastDifferent {
		return 0
	}
	return float64(words.halfBits)/2 - random*float64(words.letters) - joined
}

// letterCount adds up what the letters of words take.
type letterCount struct {
	previous, length  int // the last letter and how many the word has
	halfBits, letters int
	seen              uint // the letters, a bit each
	cases             byte // 1 for capital letters, 2 for small ones
}

// addLetter counts the next letter of a word.
func (n *letterCount) addLetter(c byte) {
	next := int(c & 31)
	n.halfBits += pairBits(n.previous, next)
	n.previous = next
	n.length++
	n.letters++
	n.seen |= 1 << next
	n.cases |= 1 << (c >> 5 & 1)
}

// endWord counts the border of a word.
func (n *letterCount) endWord() {
	if n.length == 0 {
		return
	}
	n.halfBits += pairBits(n.previous, 0)
	if n.length < len(shortWords) {
		n.halfBits += shortWords[n.length]
	}
	n.previous, n.length = 0, 0
}

// pairBits is how many half bits a letter takes after another one; 0 is the border of a word.
func pairBits(previous, next int) int {
	if next > 0 && previous > 0 && (next == previous || next == previous+1) {
		return 2 // xxxx, abcd
	}
	c := letterPairs[previous][next]
	if lex.IsDigit(c) {
		return int(c - '0')
	}
	return int(c-'a') + 10
}
