package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object holds the members of one JSON object in their order while a decoder
// takes what it knows; the rest belongs to a newer writer. The first error
// sticks.
type object struct {
	members []member
	err     error
}

type member struct {
	key   []byte // as it was written, with its quotes
	value []byte // JSON without space around it, sharing the input
	taken bool
}

// openObject splits data, which must be valid JSON.
func openObject(data []byte) *object {
	s := scanner{data: data}
	o := &object{members: make([]member, 0, 8)}
	if !s.enter('{') {
		o.err = fmt.Errorf("want an object, have %.40q", data)
		return o
	}
	for !s.leave('}') {
		key := s.value()
		s.skip(':')
		o.members = append(o.members, member{key: key, value: s.value()})
	}
	return o
}

func (o *object) fail(name, problem string) {
	if o.err == nil {
		o.err = fmt.Errorf("%s: %s", name, problem)
	}
}

// named reports whether the member has the name that both parts make.
func (m *member) named(name, suffix string) bool {
	if bytes.IndexByte(m.key, '\\') >= 0 {
		return unquote(m.key) == name+suffix
	}
	key := m.key[1 : len(m.key)-1]
	return len(key) == len(name)+len(suffix) && string(key[:len(name)]) == name && string(key[len(name):]) == suffix
}

// last returns the last member of that name, nil if there is none.
func (o *object) last(name string) []byte { return o.find(name, "") }

func (o *object) find(name, suffix string) []byte {
	var value []byte
	for i := range o.members {
		if m := &o.members[i]; m.named(name, suffix) {
			m.taken, value = true, m.value
		}
	}
	return value
}

// take is last with null for absent, as serde reads an Option.
func (o *object) take(name string) []byte { return present(o.last(name)) }

func present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// str returns a string that must be there.
func (o *object) str(name string) string {
	s, ok := o.optStr(name)
	if !ok {
		o.fail(name, "missing")
	}
	return s
}

// tag returns a string that must be there and say something.
func (o *object) tag(name string) string {
	s := o.str(name)
	if s == "" {
		o.fail(name, "empty")
	}
	return s
}

func (o *object) optStr(name string) (string, bool) {
	value, exact := o.take(name), o.exact(name)
	if value == nil {
		return "", false
	}
	if value[0] != '"' {
		o.fail(name, "want a string")
		return "", false
	}
	s := unquote(value)
	if exact != nil && sameText(string(exact), s) {
		return string(exact), true
	}
	return s, true
}

// bytes returns decoded base64, nil if the member is absent.
func (o *object) bytes(name string) []byte { return o.base64(name, "") }

// exact returns the bytes that a member's twin holds.
func (o *object) exact(name string) []byte { return o.base64(name, exactSuffix) }

func (o *object) base64(name, suffix string) []byte {
	value := present(o.find(name, suffix))
	if value == nil {
		return nil
	}
	out, err := base64.StdEncoding.DecodeString(unquote(value))
	if err != nil || value[0] != '"' {
		o.fail(name+suffix, "want base64")
	}
	return out
}

// json returns the bytes of a value as they were first written, nil if absent.
func (o *object) json(name string) []byte {
	value, exact := o.last(name), o.exact(name)
	if value != nil && exact != nil && sameJSON(readableJSON(exact), readableJSON(value)) {
		return exact
	}
	return bytes.Clone(value)
}

func (o *object) bool(name string) bool {
	switch value := o.take(name); string(value) {
	case "true":
		return true
	case "", "false":
	default:
		o.fail(name, "want true or false")
	}
	return false
}

func (o *object) int(name string) int {
	value := o.take(name)
	if value == nil {
		return 0
	}
	n, err := strconv.Atoi(string(value))
	if err != nil {
		o.fail(name, "want a whole number")
	}
	return n
}

// list returns the elements of an array, nil if absent.
func (o *object) list(name string) [][]byte {
	value := o.take(name)
	if value == nil {
		return nil
	}
	s := scanner{data: value}
	if !s.enter('[') {
		o.fail(name, "want an array")
		return nil
	}
	out := [][]byte{}
	for !s.leave(']') {
		out = append(out, s.value())
	}
	return out
}

// rest returns the members nobody took as one compact JSON object, "" if none.
func (o *object) rest() string {
	out := []byte{'{'}
	for _, m := range o.members {
		if m.taken {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, m.key...), ':')
		out = append(out, compact(m.value)...)
	}
	if len(out) == 1 {
		return ""
	}
	return string(append(out, '}'))
}

func compact(value []byte) []byte {
	var flat bytes.Buffer
	if json.Compact(&flat, value) != nil {
		return value
	}
	return flat.Bytes()
}

// scanner walks over JSON that is known to be valid.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) enter(open byte) bool { return s.skip(open) }

func (s *scanner) skip(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// leave reports whether the container ends here; if not it steps over the
// comma before the next element.
func (s *scanner) leave(end byte) bool {
	if c := s.peek(); c == 0 || s.skip(end) {
		return true
	}
	s.skip(',')
	return false
}

// value returns the next value and steps over it.
func (s *scanner) value() []byte {
	first := s.peek()
	start := s.pos
	switch first {
	case '"':
		s.str()
	case '{', '[':
		s.container()
	default:
		for s.pos < len(s.data) && strings.IndexByte(",]} \t\r\n", s.data[s.pos]) < 0 {
			s.pos++
		}
	}
	return s.data[start:s.pos]
}

func (s *scanner) str() {
	s.pos++
	if end := bytes.IndexByte(s.data[s.pos:], '"'); end >= 0 && bytes.IndexByte(s.data[s.pos:s.pos+end], '\\') < 0 {
		s.pos += end + 1
		return
	}
	for ; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return
		}
	}
}

func (s *scanner) container() {
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			s.str()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			return
		}
	}
}

// unquote decodes a JSON string. Bytes that are no UTF-8 stay as they are, and
// an escaped lone surrogate becomes its three bytes of WTF-8, so that neither
// turns into U+FFFD. A value that is no string is returned as it stands.
func unquote(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return string(value)
	}
	body := value[1 : len(value)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			break
		}
		out = append(out, body[:i]...)
		out, body = unescape(out, body[i:])
	}
	return string(append(out, body...))
}

// unescape decodes the escape at the start of body.
func unescape(out, body []byte) ([]byte, []byte) {
	switch c := body[1]; c {
	case 'b':
		return append(out, '\b'), body[2:]
	case 'f':
		return append(out, '\f'), body[2:]
	case 'n':
		return append(out, '\n'), body[2:]
	case 'r':
		return append(out, '\r'), body[2:]
	case 't':
		return append(out, '\t'), body[2:]
	case 'u':
		return unescapeUnit(out, body)
	default:
		return append(out, c), body[2:]
	}
}

func unescapeUnit(out, body []byte) ([]byte, []byte) {
	unit := hexUnit(body)
	rest := body[6:]
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(out, unit), rest
	}
	if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if r := utf16.DecodeRune(unit, hexUnit(rest)); r != utf8.RuneError {
			return utf8.AppendRune(out, r), rest[6:]
		}
	}
	return append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0xBF, 0x80|byte(unit)&0xBF), rest
}

// hexUnit returns the code unit of an escape \uXXXX.
func hexUnit(escape []byte) rune {
	n, _ := strconv.ParseUint(string(escape[2:6]), 16, 16)
	return rune(n)
}
