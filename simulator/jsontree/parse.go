package jsontree

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Problem is what keeps a text from being JSON.
type Problem uint8

// The problems. Those that name what was expected are at the byte where something
// else stands, or at the end of the text.
const (
	ValueExpected     Problem = iota // a value
	NameExpected                     // a member's name
	ColonExpected                    // the colon behind a name
	MemberEndExpected                // a comma or a closing brace
	ItemEndExpected                  // a comma or a closing bracket
	QuoteExpected                    // the quotation mark at a string's end
	EndExpected                      // nothing but white space
	ControlCharacter                 // a control character in a string
	BadEscape                        // a string that ends here has an escape that does not exist
	badText                          // a string that ends here is not valid Unicode
	BadNumber                        // a number that begins here is malformed
	BadWord                          // neither true nor false nor null
	TooDeep                          // values are nested too deep
)

// SyntaxError says where a text stops being JSON, and why.
type SyntaxError struct {
	Offset  int // in bytes
	Problem Problem
}

// Error names the place. The providers have words of their own.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid JSON at byte %d (problem %d)", e.Offset, e.Problem)
}

// ParseLenient reads one value that is nested at most maxDepth deep. Half a
// surrogate pair and bytes that are not UTF-8 become U+FFFD. It copies body.
func ParseLenient(body []byte, maxDepth int) (*Node, *SyntaxError) {
	return parse(string(body), maxDepth, true)
}

// parse builds the tree of one value with white space around it.
func parse(text string, maxDepth int, lenient bool) (*Node, *SyntaxError) {
	p := parsers.Get().(*parser)
	p.text, p.at, p.maxDepth, p.lenient = text, 0, maxDepth, lenient
	p.skipSpace()
	root := p.parseValue(0)
	if p.skipSpace(); p.failure == nil && p.at < len(p.text) {
		p.failWith(EndExpected)
	}
	failure := p.failure
	p.text, p.failure = "", nil
	p.names.reset()
	p.items.reset()
	parsers.Put(p)
	if failure != nil {
		return nil, failure
	}
	return &root, nil
}

// parser stands before the next byte of a text. After a failure it goes on to
// nothing: every method returns at once.
type parser struct {
	text     string
	at       int
	maxDepth int
	lenient  bool // takes strings that are not valid Unicode
	failure  *SyntaxError
	names    children[string]
	items    children[Node]
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// failWith notes the first problem, at the next byte.
func (p *parser) failWith(problem Problem) {
	if p.failure == nil {
		p.failure = &SyntaxError{Offset: p.at, Problem: problem}
	}
}

func (p *parser) skipSpace() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\r', '\t':
			p.at++
		default:
			return
		}
	}
}

// skipByte passes white space and then c. It reports whether c was there.
func (p *parser) skipByte(c byte) bool {
	p.skipSpace()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// parseValue reads the value that begins at the next byte.
func (p *parser) parseValue(depth int) (n Node) {
	start := p.at
	switch {
	case depth > p.maxDepth:
		p.failWith(TooDeep)
	case p.at >= len(p.text):
		p.failWith(ValueExpected)
	default:
		switch c := p.text[p.at]; c {
		case '{':
			n.kind = Object
			n.names, n.items = p.parseObject(depth)
		case '[':
			n.kind = Array
			n.items = p.parseArray(depth)
		case '"':
			n.kind, n.text = String, p.parseString()
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n.kind = p.parseNumber()
		case 't', 'f', 'n':
			n.kind = p.parseWord()
		default:
			p.failWith(ValueExpected)
		}
	}
	n.raw = p.text[start:p.at]
	return n
}

func (p *parser) parseObject(depth int) (names []string, items []Node) {
	p.at++
	if p.skipByte('}') {
		return nil, nil
	}
	name, item := p.names.mark(), p.items.mark()
	for {
		if p.skipSpace(); p.at >= len(p.text) || p.text[p.at] != '"' {
			p.failWith(NameExpected)
			return nil, nil
		}
		p.names.push(p.parseString())
		if !p.skipByte(':') {
			p.failWith(ColonExpected)
		}
		p.skipSpace()
		if p.failure == nil {
			p.items.push(p.parseValue(depth + 1))
		}
		switch {
		case p.failure != nil:
			return nil, nil
		case p.skipByte('}'):
			return p.names.take(name), p.items.take(item)
		case !p.skipByte(','):
			p.failWith(MemberEndExpected)
			return nil, nil
		}
	}
}

func (p *parser) parseArray(depth int) []Node {
	p.at++
	if p.skipByte(']') {
		return nil
	}
	item := p.items.mark()
	for {
		p.skipSpace()
		p.items.push(p.parseValue(depth + 1))
		switch {
		case p.failure != nil:
			return nil
		case p.skipByte(']'):
			return p.items.take(item)
		case !p.skipByte(','):
			p.failWith(ItemEndExpected)
			return nil
		}
	}
}

// plainByte holds what stands for itself in a string, of ASCII.
var plainByte = func() (plain [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// parseString reads a string and returns its characters.
func (p *parser) parseString() string {
	start, escaped, ascii := p.at, false, true
	for p.at++; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case plainByte[c]:
		case c == '"':
			p.at++
			return p.decodeString(p.text[start:p.at], escaped, ascii)
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			p.failWith(ControlCharacter)
			return ""
		default:
			ascii = false
		}
	}
	p.at = len(p.text)
	p.failWith(QuoteExpected)
	return ""
}

// decodeString returns the characters of a string that stands before the next
// byte. One without escapes shares the memory of the text.
func (p *parser) decodeString(quoted string, escaped, ascii bool) string {
	if !escaped && (ascii || utf8.ValidString(quoted)) {
		return quoted[1 : len(quoted)-1]
	}
	if out, err := jsontext.AppendUnquote(nil, quoted); err == nil {
		return string(out)
	}
	var replaced string
	if json.Unmarshal([]byte(quoted), &replaced) != nil {
		p.failWith(BadEscape)
	} else if !p.lenient {
		p.failWith(badText)
	}
	return replaced
}

// parseNumber reads a number and returns its kind.
func (p *parser) parseNumber() Kind {
	start, kind := p.at, Integer
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c >= '0' && c <= '9' || c == '-' || c == '+' {
			continue
		}
		if c != '.' && c|0x20 != 'e' {
			break
		}
		kind = Decimal
	}
	if !isNumber(p.text[start:p.at]) {
		p.at = start
		p.failWith(BadNumber)
	}
	return kind
}

// isNumber reports whether a text of digits, signs, points and exponents is a
// number.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole := leadingDigits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return false
	}
	if s = s[whole:]; strings.HasPrefix(s, ".") {
		fraction := leadingDigits(s[1:])
		if fraction == 0 {
			return false
		}
		s = s[1+fraction:]
	}
	if s == "" {
		return true
	}
	if s[0]|0x20 != 'e' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && leadingDigits(s) == len(s)
}

// leadingDigits counts the digits at the beginning.
func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// parseWord reads true, false or null and returns its kind.
func (p *parser) parseWord() Kind {
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			if word == "null" {
				return Null
			}
			return Bool
		}
	}
	p.failWith(BadWord)
	return 0
}
