package specs

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// fields maps the keys of a YAML mapping to what reads them.
type fields map[string]func(*yaml.Node)

// parseFields reads the mapping n. Unknown, repeated and missing mandatory keys are
// faults; aliases are refused because they hide where a value stands.
func (p *scenarioParser) parseFields(n *yaml.Node, known fields, mandatory ...string) {
	if n.Kind != yaml.MappingNode {
		p.failAt(n.Line, "expected a mapping with %s", known.names())
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := known[key.Value]
		if !ok {
			p.failAt(key.Line, "unknown key %q; known here: %s%s", key.Value, known.names(), spelling.Hint(key.Value, slices.Collect(maps.Keys(known))))
		}
		if seen[key.Value] {
			p.failAt(key.Line, "key %q stands twice", key.Value)
		}
		seen[key.Value] = true
		read(value)
	}
	for _, name := range mandatory {
		if !seen[name] {
			p.failAt(n.Line, "key %q is missing", name)
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

// parseList reads the sequence n, which must hold something.
func parseList[T any](p *scenarioParser, n *yaml.Node, item func(*yaml.Node) T) []T {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.failAt(n.Line, "expected a list with at least one entry")
	}
	var items []T
	for _, entry := range n.Content {
		items = append(items, item(entry))
	}
	return items
}

func (p *scenarioParser) parseText(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.failAt(n.Line, "expected a text; write \"\" for an empty one")
	}
	if hasBadNonce(n.Value) {
		p.failAt(n.Line, "a nonce is {{nonce}} or {{nonce NAME}}, its name in lower case with dashes")
	}
	return n.Value
}

func (p *scenarioParser) parseFilledText(n *yaml.Node) string {
	text := p.parseText(n)
	if strings.TrimSpace(text) == "" {
		p.failAt(n.Line, "expected a text that is not empty")
	}
	return text
}

func (p *scenarioParser) oneOf(n *yaml.Node, allowed ...string) string {
	text := p.parseText(n)
	if !slices.Contains(allowed, text) {
		p.failAt(n.Line, "%q is not one of %s%s", text, strings.Join(allowed, ", "), spelling.Hint(text, allowed))
	}
	return text
}

func (p *scenarioParser) parseCount(n *yaml.Node) int {
	count, err := strconv.Atoi(p.parseText(n))
	if err != nil || count < 1 {
		p.failAt(n.Line, "%q is not a whole number from 1", n.Value)
	}
	return count
}
