package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// partialCall is a call whose arguments arrive as values with JSON paths.
type partialCall struct {
	key  int
	meta *transcript.Meta
	args node
}

// ruleUnfinishedCall names a call that another part interrupted.
const ruleUnfinishedCall = "unfinished_call"

// partialCall reads one step of a call with streamed arguments: a name with
// willContinue begins it, values follow, the first step without willContinue
// ends it, which may be an empty object.
func (d *dialect) partialCall(c *wireCall, m *members) error {
	if c.name != "" {
		if err := d.finishCutCall(); err != nil {
			return err
		}
		if err := d.closeText(); err != nil {
			return err
		}
		id := d.callID(c, m.signature)
		d.call = &partialCall{key: d.nextKey(), args: node{kind: '{'}}
		if err := d.asm.Open(d.call.key, transcript.ToolUse(id, c.name, nil)); err != nil {
			return err
		}
	}
	if d.call == nil {
		if !c.nonEmpty {
			return nil // the end of a call that has already ended
		}
		return d.asm.Anomaly(stream.RuleOrphanedDelta, "arguments without a call")
	}
	if meta := d.signatureMeta(m.signature); meta != nil && d.call.meta == nil {
		d.call.meta = meta
	}
	if !jsontok.IsNull(c.partial) {
		if err := jsontok.Elements(c.partial, d.call.args.addArgument); err != nil {
			return err
		}
	}
	if !c.continues {
		return d.endCall()
	}
	return nil
}

// finishCutCall reports a call that a new one interrupts, and ends it.
func (d *dialect) finishCutCall() error {
	if d.call == nil {
		return nil
	}
	if err := d.asm.Anomaly(ruleUnfinishedCall, "a call begins before the last one has ended"); err != nil {
		return err
	}
	return d.endCall()
}

func (d *dialect) endCall() error {
	call := d.call
	d.call = nil
	return d.asm.Complete(call.key, func(b *transcript.Block) {
		b.Args, b.Meta = call.args.appendJSON(nil), call.meta
	})
}

// node is a JSON value under construction: an object, an array, a string that
// may still grow, or any other value. Members keep their order of arrival.
type node struct {
	kind  byte // '{', '[', '"', or 'v' for a value kept as it came; 0: nothing yet
	names []string
	kids  []*node
	text  []byte // of a string, unescaped; of a value, its JSON
}

// addArgument puts one element of partialArgs in its place.
func (n *node) addArgument(raw []byte) error {
	var path string
	leaf := node{}
	err := jsontok.Fields(raw, func(field, value []byte) error {
		switch string(camelCase(field)) {
		case "jsonPath":
			path = jsontok.String(value)
		case "stringValue":
			lit, _ := jsontok.Literal(value)
			leaf = node{kind: '"', text: lit}
		case "numberValue", "boolValue":
			leaf = node{kind: 'v', text: value}
		case "nullValue":
			leaf = node{kind: 'v', text: []byte("null")}
		}
		return nil
	})
	if err != nil {
		return err
	}
	at, err := n.walkPath(path)
	if err != nil {
		return fmt.Errorf("partialArgs path %.80q: %w", path, err)
	}
	return at.setValue(&leaf)
}

// setValue gives n the value of leaf. A string continues the one before it.
func (n *node) setValue(leaf *node) error {
	switch {
	case leaf.kind == 0:
		return nil
	case leaf.kind == '"' && (n.kind == 0 || n.kind == '"'):
		n.text = jsontok.AppendUnescaped(n.text, leaf.text)
	case n.kind == 0:
		n.text = bytes.Clone(leaf.text)
	default:
		return errors.New("partialArgs gives a value twice")
	}
	n.kind = leaf.kind
	return nil
}

// maxPath bounds the depth of a path: no tool schema is deeper.
const maxPath = 64

// walkPath follows a path such as $.a.b[0]['c'] and makes what is missing on it.
func (n *node) walkPath(path string) (*node, error) {
	rest, ok := strings.CutPrefix(path, "$")
	for depth := 0; ok && rest != ""; depth++ {
		if depth == maxPath {
			return nil, errors.New("is too deep")
		}
		var err error
		if n, rest, err = n.stepInto(rest); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, errors.New("does not begin with $")
	}
	return n, nil
}

// stepInto takes the first step of rest.
func (n *node) stepInto(rest string) (*node, string, error) {
	if name, ok := strings.CutPrefix(rest, "."); ok {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		kid, err := n.memberNode(name[:end])
		return kid, name[end:], err
	}
	inside, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	if !ok || rest[0] != '[' {
		return nil, "", errors.New("has a step that is neither .name nor [index]")
	}
	if len(inside) >= 2 && (inside[0] == '\'' || inside[0] == '"') && inside[len(inside)-1] == inside[0] {
		kid, err := n.memberNode(inside[1 : len(inside)-1])
		return kid, after, err
	}
	i, err := strconv.Atoi(inside)
	if err != nil {
		return nil, "", errors.New("has an index that is not a number")
	}
	kid, err := n.elementNode(i)
	return kid, after, err
}

var errShape = errors.New("leads through a value of another kind")

func (n *node) memberNode(name string) (*node, error) {
	if n.kind == 0 {
		n.kind = '{'
	}
	if n.kind != '{' {
		return nil, errShape
	}
	for i := len(n.names) - 1; i >= 0; i-- { // the last one as a rule
		if n.names[i] == name {
			return n.kids[i], nil
		}
	}
	n.names = append(n.names, name)
	n.kids = append(n.kids, &node{})
	return n.kids[len(n.kids)-1], nil
}

func (n *node) elementNode(i int) (*node, error) {
	if n.kind == 0 {
		n.kind = '['
	}
	switch {
	case n.kind != '[':
		return nil, errShape
	case i < 0 || i > len(n.kids):
		return nil, errors.New("skips an index")
	case i == len(n.kids):
		n.kids = append(n.kids, &node{})
	}
	return n.kids[i], nil
}

// appendJSON writes n as compact JSON.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case '"':
		return jsontok.AppendQuoted(dst, n.text)
	case 'v':
		return append(dst, n.text...)
	case 0:
		return append(dst, "null"...)
	}
	dst = append(dst, n.kind)
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(jsontok.AppendQuoted(dst, n.names[i]), ':')
		}
		dst = kid.appendJSON(dst)
	}
	return append(dst, n.kind+2) // '{'+2 is '}', '['+2 is ']'
}
