package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/simulator/lex"
)

// kind is the type of a JSON value.
type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isString
	isArray
	isObject
)

// node is a JSON value whose members keep their order and repeats, as the API's
// transcoder sees them.
type node struct {
	kind  kind
	text  string // of a string, decoded; of a number and a boolean, as written
	names []string
	items []node // of an object behind its names, or of an array
}

// member returns the last member that has one of names: the API takes two
// spellings of each. A null counts as absent.
func (n *node) member(names ...string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.names) - 1; i >= 0; i-- {
		if slices.Contains(names, n.names[i]) {
			if n.items[i].kind == isNull {
				return nil
			}
			return &n.items[i]
		}
	}
	return nil
}

// list returns the items of an array; one value is a list of one, as the API
// reads it (reference §1.3).
func (n *node) list() []node {
	switch {
	case n == nil || n.kind == isNull:
		return nil
	case n.kind == isArray:
		return n.items
	}
	return []node{*n}
}

func (n *node) string() string {
	if n == nil || n.kind != isString {
		return ""
	}
	return n.text
}

func (n *node) yes() bool { return n != nil && n.kind == isBool && n.text == "true" }

// number returns the value of a number, also one in a string.
func (n *node) number() (float64, bool) {
	if n == nil || n.kind != isNumber && n.kind != isString {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.text, 64)
	return f, err == nil
}

// canonical writes the value so that two spellings of the same value are the
// same bytes: members by name, numbers by value.
func (n *node) canonical(out []byte) []byte {
	switch {
	case n == nil:
		return append(out, "{}"...)
	case n.kind == isString:
		return strconv.AppendQuote(out, n.text)
	case n.kind == isNumber:
		return appendNumber(out, n.text)
	case n.kind == isArray:
		out = append(out, '[')
		for i := range n.items {
			out = append(n.items[i].canonical(out), ',')
		}
		return append(out, ']')
	case n.kind == isObject:
		return n.canonicalObject(out)
	case n.kind == isBool:
		return append(out, n.text...)
	}
	return append(out, "null"...)
}

func (n *node) canonicalObject(out []byte) []byte {
	order := make([]int, len(n.names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare([]byte(n.names[a]), []byte(n.names[b])) })
	out = append(out, '{')
	for _, i := range order {
		out = strconv.AppendQuote(out, n.names[i])
		out = append(out, ':')
		out = append(n.items[i].canonical(out), ',')
	}
	return append(out, '}')
}

// appendNumber writes 1, 1.0 and 1e0 alike; integers beyond what a float64
// holds keep their digits.
func appendNumber(out []byte, literal string) []byte {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return strconv.AppendInt(out, i, 10)
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return append(out, literal...)
	}
	if f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
		return strconv.AppendInt(out, int64(f), 10)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

// parse reads one JSON value. A fault is in the words of the API's parser.
func parse(body []byte) (n node, fault string) {
	p := parsers.Get().(*parser)
	p.body, p.text, p.at = body, string(body), 0
	defer func() {
		p.body, p.text = nil, ""
		p.names.Forget()
		p.items.Forget()
		parsers.Put(p)
		if failed, ok := recover().(syntax); ok {
			n, fault = node{}, string(failed)
		}
	}()
	p.space()
	n = p.value(0)
	if p.space(); p.at < len(p.body) {
		p.fail("Parsing terminated before end of input.")
	}
	return n, ""
}

// syntax is what a parser panics with; parse returns it.
type syntax string

type parser struct {
	body  []byte
	text  string // is body: the texts of nodes share its memory
	at    int
	names lex.Nest[string]
	items lex.Nest[node]
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// maxDepth is how deep messages may nest.
const maxDepth = 100

// fail reports what was expected and shows the place.
func (p *parser) fail(text string) {
	if p.at >= len(p.body) {
		text = "Unexpected end of string. " + text
	}
	const context = 20
	from, to := max(0, p.at-context), min(len(p.body), p.at+context)
	panic(syntax(fmt.Sprintf("Invalid JSON payload received. %s\n%s\n%*s", text, p.body[from:to], p.at-from+1, "^")))
}

func (p *parser) space() {
	for p.at < len(p.body) && (p.body[p.at] == ' ' || p.body[p.at] == '\n' || p.body[p.at] == '\r' || p.body[p.at] == '\t') {
		p.at++
	}
}

// next reports whether c follows, and passes it.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at < len(p.body) && p.body[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value(depth int) node {
	if depth > maxDepth {
		panic(syntax("Message too deep. Max recursion depth reached for key ''"))
	}
	if p.at >= len(p.body) {
		p.fail("Expected a value.")
	}
	switch c := p.body[p.at]; {
	case c == '{':
		p.at++
		return p.object(depth)
	case c == '[':
		p.at++
		return p.array(depth)
	case c == '"':
		return node{kind: isString, text: p.quoted()}
	case c == '-' || c >= '0' && c <= '9':
		return p.literalNumber()
	case c == 't' || c == 'f' || c == 'n':
		return p.word()
	}
	p.fail("Expected a value.")
	return node{}
}

func (p *parser) object(depth int) node {
	n := node{kind: isObject}
	if p.next('}') {
		return n
	}
	name, item := p.names.Mark(), p.items.Mark()
	for {
		if p.space(); p.at >= len(p.body) || p.body[p.at] != '"' {
			p.fail("Expected an object key or }.")
		}
		p.names.Add(p.quoted())
		if !p.next(':') {
			p.fail("Expected : between key:value pair.")
		}
		p.space()
		p.items.Add(p.value(depth + 1))
		if p.next('}') {
			n.names, n.items = p.names.Take(name), p.items.Take(item)
			return n
		}
		if !p.next(',') {
			p.fail("Expected , or } after key:value pair.")
		}
	}
}

func (p *parser) array(depth int) node {
	n := node{kind: isArray}
	if p.next(']') {
		return n
	}
	item := p.items.Mark()
	for {
		p.space()
		p.items.Add(p.value(depth + 1))
		if p.next(']') {
			n.items = p.items.Take(item)
			return n
		}
		if !p.next(',') {
			p.fail("Expected , or ] after array value.")
		}
	}
}

// quoted reads a string; strings without escapes are taken as they stand.
func (p *parser) quoted() string {
	start, plain := p.at, true
	for p.at++; p.at < len(p.body); p.at++ {
		switch c := p.body[p.at]; {
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			p.fail("Invalid control character in string.")
		case c == '"':
			p.at++
			return p.decoded(start, plain)
		}
	}
	p.at = len(p.body)
	p.fail("Closing quote expected in string.")
	return ""
}

func (p *parser) decoded(start int, plain bool) string {
	if raw := p.text[start:p.at]; plain && utf8.ValidString(raw) {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal(p.body[start:p.at], &s) != nil {
		p.fail("Invalid escape sequence.")
	}
	return s
}

func (p *parser) literalNumber() node {
	start := p.at
	for p.at < len(p.body) && bytes.IndexByte([]byte("+-.eE0123456789"), p.body[p.at]) >= 0 {
		p.at++
	}
	text := p.text[start:p.at]
	if !json.Valid(p.body[start:p.at]) {
		p.at = start
		p.fail("Unable to parse number.")
	}
	return node{kind: isNumber, text: text}
}

var words = []node{{kind: isBool, text: "true"}, {kind: isBool, text: "false"}, {kind: isNull, text: "null"}}

func (p *parser) word() node {
	for _, n := range words {
		if strings.HasPrefix(p.text[p.at:], n.text) {
			p.at += len(n.text)
			return n
		}
	}
	p.fail("Unexpected token.")
	return node{}
}
