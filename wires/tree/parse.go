package tree

import (
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads one value. It keeps strings as they were sent, also those that are not
// valid Unicode: bytes that are not UTF-8 stay, and half a surrogate pair becomes
// its three bytes in WTF-8. The error is a [*SyntaxError] with a Reason. A text
// that is given as bytes is copied.
func Parse[Text string | []byte](text Text) (*Node, error) {
	return ParseWithin(string(text), MaxDepth)
}

// ParseWithin is Parse for a value that is nested at most maxDepth deep.
func ParseWithin(whole string, maxDepth int) (*Node, error) {
	root, fault := parse(whole, maxDepth, keepInvalid)
	if fault != nil {
		return nil, explainFault(whole, fault)
	}
	return root, nil
}

// ParseStrict reads one value of valid Unicode that is nested at most maxDepth
// deep. The error is a [*jsontext.SyntacticError] with the offset, [io.EOF] for an
// empty text, ErrTrailing or errTooDeep. It copies body.
func ParseStrict(body []byte, maxDepth int) (*Node, error) {
	root, fault := parse(string(body), maxDepth, refuseInvalid)
	if fault == nil {
		return root, nil
	}
	if err := describeFailure(body); err != nil {
		return nil, err
	}
	if fault.Problem == TooDeep {
		return nil, errTooDeep
	}
	return nil, fault
}

// ParseLenient reads one value that is nested at most maxDepth deep. Half a
// surrogate pair and bytes that are not UTF-8 become U+FFFD. It copies body.
func ParseLenient(body []byte, maxDepth int) (*Node, *SyntaxError) {
	return parse(string(body), maxDepth, replaceInvalid)
}

// ParseElements reads the elements of one array as far as they are whole, as Parse
// does, and says whether the array was closed: a cut text still yields what arrived.
// What follows the array is not read.
func ParseElements[Text string | []byte](text Text) (elements []*Node, closed bool) {
	p := newParser(string(text), MaxDepth, keepInvalid)
	defer p.giveBack()
	if !p.skipByte('[') || p.skipByte(']') {
		return nil, p.at > 0 && p.text[p.at-1] == ']'
	}
	for {
		p.skipSpace()
		n := p.parseValue(1)
		if p.fault != nil {
			return elements, false
		}
		if elements = append(elements, n); !p.skipByte(',') {
			return elements, p.skipByte(']')
		}
	}
}

// unicodeMode says what becomes of a string that is not valid Unicode.
type unicodeMode uint8

const (
	keepInvalid unicodeMode = iota
	refuseInvalid
	replaceInvalid
)

// parse builds the tree of one value with white space around it.
func parse(text string, maxDepth int, mode unicodeMode) (*Node, *SyntaxError) {
	p := newParser(text, maxDepth, mode)
	defer p.giveBack()
	p.skipSpace()
	root := p.parseValue(0)
	if p.skipSpace(); p.fault == nil && p.at < len(p.text) {
		p.failWith(EndExpected)
	}
	if p.fault != nil {
		return nil, p.fault
	}
	return root, nil
}

// parser stands before the next byte of a text. After a failure it goes on to
// nothing: every method returns at once.
type parser struct {
	text     string
	at       int
	maxDepth int
	mode     unicodeMode
	fault    *SyntaxError
	names    children[string]
	items    children[*Node]
	nodes    nodeRoom
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

func newParser(text string, maxDepth int, mode unicodeMode) *parser {
	p := parsers.Get().(*parser)
	p.text, p.at, p.maxDepth, p.mode = text, 0, maxDepth, mode
	return p
}

// giveBack gives the parser to the next text.
func (p *parser) giveBack() {
	p.text, p.fault = "", nil
	p.names.reset()
	p.items.reset()
	parsers.Put(p)
}

// failWith notes the first problem, at the next byte.
func (p *parser) failWith(problem Problem) {
	if p.fault == nil {
		p.fault = &SyntaxError{Offset: p.at, Problem: problem}
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
func (p *parser) parseValue(depth int) *Node {
	n, start := p.nodes.newNode(), p.at
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
	n.offset, n.raw = start, p.text[start:p.at]
	return n
}

func (p *parser) parseObject(depth int) (names []string, items []*Node) {
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
		if p.fault == nil {
			p.items.push(p.parseValue(depth + 1))
		}
		switch {
		case p.fault != nil:
			return nil, nil
		case p.skipByte('}'):
			return p.names.take(name), p.items.take(item)
		case !p.skipByte(','):
			p.failWith(MemberEndExpected)
			return nil, nil
		}
	}
}

func (p *parser) parseArray(depth int) []*Node {
	p.at++
	if p.skipByte(']') {
		return nil
	}
	item := p.items.mark()
	for {
		p.skipSpace()
		p.items.push(p.parseValue(depth + 1))
		switch {
		case p.fault != nil:
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
	if !escaped && (ascii || p.mode == keepInvalid || utf8.ValidString(quoted)) {
		return quoted[1 : len(quoted)-1]
	}
	if out, err := jsontext.AppendUnquote(nil, quoted); err == nil {
		return string(out)
	}
	var replaced string
	switch {
	case json.Unmarshal([]byte(quoted), &replaced) != nil:
		p.failWith(BadEscape)
	case p.mode == refuseInvalid:
		p.failWith(badText)
	case p.mode == keepInvalid:
		return unescapeString(quoted[1 : len(quoted)-1])
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
