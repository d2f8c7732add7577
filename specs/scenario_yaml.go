package specs

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// fields maps the keys of a YAML mapping to what reads them.
type fields map[string]func(*yaml.Node)

// fields reads the mapping n. Unknown, repeated and missing mandatory keys are
// faults; aliases are refused because they hide where a value stands.
func (p *scenarioParser) fields(n *yaml.Node, known fields, mandatory ...string) {
	if n.Kind != yaml.MappingNode {
		p.fail(n.Line, "expected a mapping with %s", known.names())
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := known[key.Value]
		if !ok {
			p.fail(key.Line, "unknown key %q; known here: %s", key.Value, known.names())
		}
		if seen[key.Value] {
			p.fail(key.Line, "key %q stands twice", key.Value)
		}
		seen[key.Value] = true
		read(value)
	}
	for _, name := range mandatory {
		if !seen[name] {
			p.fail(n.Line, "key %q is missing", name)
		}
	}
}

func (f fields) names() string {
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// list reads the sequence n, which must hold something.
func list[T any](p *scenarioParser, n *yaml.Node, item func(*yaml.Node) T) []T {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.fail(n.Line, "expected a list with at least one entry")
	}
	var items []T
	for _, entry := range n.Content {
		items = append(items, item(entry))
	}
	return items
}

func (p *scenarioParser) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.fail(n.Line, "expected a text; write \"\" for an empty one")
	}
	if misplaced(n.Value) {
		p.fail(n.Line, "a nonce is {{nonce}} or {{nonce NAME}}, its name in lower case with dashes")
	}
	return n.Value
}

func (p *scenarioParser) filled(n *yaml.Node) string {
	text := p.text(n)
	if strings.TrimSpace(text) == "" {
		p.fail(n.Line, "expected a text that is not empty")
	}
	return text
}

func (p *scenarioParser) oneOf(n *yaml.Node, allowed ...string) string {
	text := p.text(n)
	if !slices.Contains(allowed, text) {
		p.fail(n.Line, "%q is not one of %s", text, strings.Join(allowed, ", "))
	}
	return text
}

func (p *scenarioParser) positive(n *yaml.Node) int {
	count, err := strconv.Atoi(p.text(n))
	if err != nil || count < 1 {
		p.fail(n.Line, "%q is not a whole number from 1", n.Value)
	}
	return count
}
