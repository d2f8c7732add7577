package anthropic

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// The limits of grammars that the API compiles (A-48, recorded).
const (
	maxStrict   = 20
	maxOptional = 24
	maxUnions   = 16
)

// strictFits counts over all strict tools of the request. An open schema is refused in the words
// of https://github.com/vercel/ai/issues/20681.
func strictFits(c *call, _ rule.Env) *rule.Refusal {
	var strict, optional, unions, most int
	for i, t := range c.root.Get("tools").List() {
		if !t.Get("strict").True() {
			continue
		}
		schema := t.Get("input_schema")
		if name := circularDefinition(schema); name != "" {
			return invalid("tools.%d.custom: Invalid schema: Circular reference detected in %s", i, name)
		}
		if words := openObject(schema); words != "" {
			return invalid("tools.%d.custom: %s", i, words)
		}
		strict++
		optional += countOptional(schema)
		n := countUnions(schema)
		unions, most = unions+n, max(most, n)
	}
	switch {
	case strict > maxStrict:
		return invalid("Too many strict tools (%d). The maximum number of strict tools supported is %d. Try reducing the number of tools marked as strict.", strict, maxStrict)
	case optional > maxOptional:
		return invalid("Schemas contains too many optional parameters (%d), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: %d).", optional, maxOptional)
	case unions > maxUnions:
		return invalid("Schemas contains too many parameters with union types (%d parameters with type arrays or anyOf). This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: %d parameters with unions).", unions, maxUnions)
	case most >= maxUnions: // recorded: sixteen pass over several tools, not in one
		return invalid("Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.")
	}
	return nil
}

// eachSchema visits a schema and all schemas in it.
func eachSchema(v *tree.Node, visit func(*tree.Node)) {
	if v == nil {
		return
	}
	if v.Is(tree.Object) {
		visit(v)
	}
	for i := range v.Items() {
		eachSchema(v.Items()[i], visit)
	}
}

// openObject says of the first object schema that lets in what it does not name what the API
// says of it, "" if there is none.
func openObject(schema *tree.Node) string {
	words := ""
	eachSchema(schema, func(v *tree.Node) {
		closed := v.Get("additionalProperties")
		switch {
		case words != "" || v.Get("type").Text() != "object" || closed.Raw() == "false":
		case closed == nil:
			words = "For 'object' type, 'additionalProperties' must be explicitly set to false"
		default:
			words = "For 'object' type, 'additionalProperties: " + closed.Raw() + "' is not supported. Please set 'additionalProperties' to false"
		}
	})
	return words
}

func countOptional(schema *tree.Node) int {
	n := 0
	eachSchema(schema, func(v *tree.Node) {
		properties := v.Get("properties")
		if !properties.Is(tree.Object) {
			return
		}
		required := v.Get("required").List()
		for _, name := range properties.Names() {
			if !slices.ContainsFunc(required, func(r *tree.Node) bool { return r.Text() == name }) {
				n++
			}
		}
	})
	return n
}

func countUnions(schema *tree.Node) int {
	n := 0
	eachSchema(schema, func(v *tree.Node) {
		if v.Get("type").Is(tree.Array) || v.Get("anyOf").Is(tree.Array) {
			n++
		}
	})
	return n
}

// circularDefinition names a definition of the schema that refers to itself, "" if there
// is none.
func circularDefinition(schema *tree.Node) (circle string) {
	eachSchema(schema, func(v *tree.Node) {
		if v.Get("$ref").Text() == "#" {
			circle = "#"
		}
	})
	if circle != "" {
		return circle
	}
	for _, section := range []string{"$defs", "definitions"} {
		defs := schema.Get(section)
		if !defs.Is(tree.Object) {
			continue
		}
		for _, name := range defs.Names() {
			if refersTo(schema, "#/"+section+"/"+name, "#/"+section+"/"+name, map[string]bool{}) {
				return name
			}
		}
	}
	return ""
}

// refersTo reports whether following references from one definition leads to
// another.
func refersTo(schema *tree.Node, from, to string, seen map[string]bool) bool {
	seen[from] = true
	section, name, _ := strings.Cut(strings.TrimPrefix(from, "#/"), "/")
	found := false
	eachSchema(schema.Get(section).Get(name), func(v *tree.Node) {
		ref := v.Get("$ref").Text()
		if ref != "" && (ref == to || !seen[ref] && refersTo(schema, ref, to, seen)) {
			found = true
		}
	})
	return found
}

// bounds are the keywords that the API's grammars cannot hold to, by type.
var bounds = map[string][]string{
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"string":  {"minLength", "maxLength"},
	"array":   {"maxItems"},
}

func outputSchemaFits(c *call, _ rule.Env) *rule.Refusal {
	path, schema := "output_format.schema", c.root.Given("output_format").Get("schema")
	if schema == nil {
		path, schema = "output_config.format.schema", c.root.Given("output_config").Given("format").Get("schema")
	}
	var refusal *rule.Refusal
	eachSchema(schema, func(v *tree.Node) {
		kind := v.Get("type").Text()
		for _, word := range bounds[kind] {
			if refusal == nil && v.Get(word) != nil {
				refusal = invalid("%s: For '%s' type, property '%s' is not supported", path, kind, word)
			}
		}
	})
	if words := openObject(schema); refusal == nil && words != "" {
		return invalid("%s: %s", path, words)
	}
	return refusal
}
