package bench

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// node is a JSON value that keeps member order and the bytes of what is not
// altered: scalars, keys and the white space between tokens.
type node struct {
	kind    byte // one of { [ " 0 t f n
	raw     []byte
	members []member
	tail    []byte // white space of an empty container
}

// member is one entry of an object or array; key is empty in arrays.
type member struct {
	before, keyRaw, colon, after []byte
	key                          string
	value                        *node
}

// parseJSON reads b, which must be valid JSON.
func parseJSON(b []byte) (*node, bool) {
	if len(b) == 0 || !json.Valid(b) {
		return nil, false
	}
	p := &parser{rest: b}
	p.skipSpace()
	return p.parseValue(), true
}

// parseLiteral reads a JSON text that the bench itself wrote.
func parseLiteral(text string) *node {
	n, ok := parseJSON([]byte(text))
	if !ok {
		panic("bench: bad literal " + text)
	}
	return n
}

func stringNode(s string) *node {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		panic("bench: a string cannot be encoded")
	}
	return &node{kind: '"', raw: bytes.TrimSuffix(out.Bytes(), []byte("\n"))}
}

// parser walks over valid JSON, so that it needs no errors.
type parser struct{ rest []byte }

func (p *parser) skipSpace() []byte {
	n := 0
	for n < len(p.rest) && strings.IndexByte(" \t\r\n", p.rest[n]) >= 0 {
		n++
	}
	return p.take(n)
}

func (p *parser) take(n int) []byte {
	out := p.rest[:n:n]
	p.rest = p.rest[n:]
	return out
}

func (p *parser) parseValue() *node {
	switch c := p.rest[0]; c {
	case '{', '[':
		return p.parseContainer(c)
	case '"':
		return &node{kind: '"', raw: p.stringToken()}
	case 't', 'f', 'n':
		return &node{kind: c, raw: p.scalarToken()}
	}
	return &node{kind: '0', raw: p.scalarToken()}
}

func (p *parser) parseContainer(open byte) *node {
	n := &node{kind: open}
	p.take(1)
	gap := p.skipSpace()
	for p.rest[0] != '}' && p.rest[0] != ']' {
		m := member{before: gap}
		if open == '{' {
			m.keyRaw = p.stringToken()
			_ = json.Unmarshal(m.keyRaw, &m.key) // valid by construction
			start := p.rest
			p.skipSpace()
			p.take(1)
			p.skipSpace()
			m.colon = start[:len(start)-len(p.rest)]
		}
		m.value = p.parseValue()
		m.after = p.skipSpace()
		n.members = append(n.members, m)
		gap = nil
		if p.rest[0] == ',' {
			p.take(1)
			gap = p.skipSpace()
		}
	}
	n.tail = gap
	p.take(1)
	return n
}

func (p *parser) stringToken() []byte {
	i := 1
	for p.rest[i] != '"' {
		if p.rest[i] == '\\' {
			i++
		}
		i++
	}
	return p.take(i + 1)
}

func (p *parser) scalarToken() []byte {
	i := bytes.IndexAny(p.rest, " \t\r\n,]}")
	if i < 0 {
		i = len(p.rest)
	}
	return p.take(i)
}

// encodeJSON writes n with the bytes it was read from, as far as they are unaltered.
func (n *node) encodeJSON() []byte {
	var out bytes.Buffer
	n.appendTo(&out)
	return out.Bytes()
}

func (n *node) appendTo(out *bytes.Buffer) {
	if n.kind != '{' && n.kind != '[' {
		out.Write(n.raw)
		return
	}
	out.WriteByte(n.kind)
	for i, m := range n.members {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(m.before)
		if n.kind == '{' {
			out.Write(m.keyRaw)
			out.Write(m.colon)
		}
		m.value.appendTo(out)
		out.Write(m.after)
	}
	out.Write(n.tail)
	out.WriteByte(n.kind + 2) // '{'+2 is '}', '['+2 is ']'
}

func (n *node) deepCopy() *node {
	c := *n
	c.members = make([]member, len(n.members))
	for i, m := range n.members {
		m.value = m.value.deepCopy()
		c.members[i] = m
	}
	return &c
}

// at follows keys (string) and indexes (int); nil where there is nothing.
func (n *node) at(path ...any) *node {
	for _, step := range path {
		if n == nil {
			return nil
		}
		switch s := step.(type) {
		case string:
			n = n.memberNamed(s)
		case int:
			if n.kind != '[' || s < 0 || s >= len(n.members) {
				return nil
			}
			n = n.members[s].value
		}
	}
	return n
}

func (n *node) memberNamed(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// firstOf returns the member under the first of keys that is present, and its key.
func (n *node) firstOf(keys ...string) (*node, string) {
	for _, k := range keys {
		if v := n.memberNamed(k); v != nil {
			return v, k
		}
	}
	return nil, ""
}

// stringValue is the string value of n, "" when n is not a string.
func (n *node) stringValue() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(n.raw, &s) != nil {
		return ""
	}
	return s
}

func (n *node) isString() bool { return n != nil && n.kind == '"' }
func (n *node) isArray() bool  { return n != nil && n.kind == '[' }
func (n *node) isObject() bool { return n != nil && n.kind == '{' }
func (n *node) isTrue() bool   { return n != nil && n.kind == 't' }

func (n *node) countMembers() int {
	if n == nil {
		return 0
	}
	return len(n.members)
}

// setMember gives key the value v, in place or at the end, spaced like its siblings.
func (n *node) setMember(key string, v *node) {
	for i := range n.members {
		if n.members[i].key == key {
			n.members[i].value = v
			return
		}
	}
	m := member{key: key, keyRaw: stringNode(key).raw, colon: []byte(":"), value: v}
	if last := len(n.members); last > 0 {
		m.colon = n.members[last-1].colon
		m.after = n.members[last-1].after
		n.members[last-1].after = nil
		m.before = n.members[min(last-1, 1)].before
	}
	n.members = append(n.members, m)
}

func (n *node) removeKey(key string) bool {
	for i := range n.members {
		if n.members[i].key == key {
			n.removeAt(i)
			return true
		}
	}
	return false
}

func (n *node) removeAt(i int) {
	n.members = append(n.members[:i:i], n.members[i+1:]...)
}

// insertAt puts v before element i of an array, spaced like its siblings.
func (n *node) insertAt(i int, v *node) {
	m := member{value: v}
	if len(n.members) > 0 {
		m.before = n.members[len(n.members)-1].before
	}
	rest := append([]member{m}, n.members[i:]...)
	n.members = append(n.members[:i:i], rest...)
}

func (n *node) appendValue(v *node) { n.insertAt(len(n.members), v) }

func (n *node) swapElements(i, j int) {
	n.members[i].value, n.members[j].value = n.members[j].value, n.members[i].value
}

func (n *node) replaceWith(v *node) { *n = *v }

// intValue is n as an integer, 0 when it is none.
func (n *node) intValue() int {
	if n == nil || n.kind != '0' {
		return 0
	}
	v, err := strconv.Atoi(string(n.raw))
	if err != nil {
		return 0
	}
	return v
}

func intNode(v int) *node { return &node{kind: '0', raw: []byte(strconv.Itoa(v))} }

// pathString writes steps as a.b[2].c.
func pathString(steps []any) string {
	var out strings.Builder
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			out.WriteString("[" + strconv.Itoa(s) + "]")
		case string:
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(s)
		}
	}
	return out.String()
}
