package anthropic

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/rule"
)

// The limits of grammars that the API compiles (A-48, recorded).
const (
	maxStrict   = 20
	maxOptional = 24
	maxUnions   = 16
)

// strictFits counts over all strict tools of the request.
func strictFits(c *call, _ rule.Env) *rule.Refusal {
	var strict, optional, unions, most int
	for i, t := range c.root.get("tools").list() {
		if !t.get("strict").yes() {
			continue
		}
		schema := t.get("input_schema")
		if name := circular(schema); name != "" {
			return invalid("tools.%d.custom: Invalid schema: Circular reference detected in %s", i, name)
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

// each visits a schema and all schemas in it.
func each(v *node, visit func(*node)) {
	if v == nil {
		return
	}
	if v.is('{') {
		visit(v)
	}
	for i := range v.items {
		each(&v.items[i], visit)
	}
}

func countOptional(schema *node) int {
	n := 0
	each(schema, func(v *node) {
		properties := v.get("properties")
		if !properties.is('{') {
			return
		}
		required := v.get("required").list()
		for _, name := range properties.names {
			if !slices.ContainsFunc(required, func(r node) bool { return r.str() == name }) {
				n++
			}
		}
	})
	return n
}

func countUnions(schema *node) int {
	n := 0
	each(schema, func(v *node) {
		if v.get("type").is('[') || v.get("anyOf").is('[') {
			n++
		}
	})
	return n
}

// circular names a definition of the schema that refers to itself, "" if there
// is none.
func circular(schema *node) string {
	for _, section := range []string{"$defs", "definitions"} {
		defs := schema.get(section)
		if !defs.is('{') {
			continue
		}
		for _, name := range defs.names {
			if reaches(schema, "#/"+section+"/"+name, "#/"+section+"/"+name, map[string]bool{}) {
				return name
			}
		}
	}
	return ""
}

// reaches reports whether following references from one definition leads to
// another.
func reaches(schema *node, from, to string, seen map[string]bool) bool {
	seen[from] = true
	section, name, _ := strings.Cut(strings.TrimPrefix(from, "#/"), "/")
	found := false
	each(schema.get(section).get(name), func(v *node) {
		ref := v.get("$ref").str()
		if ref != "" && (ref == to || !seen[ref] && reaches(schema, ref, to, seen)) {
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
	path, schema := "output_format.schema", c.root.given("output_format").get("schema")
	if schema == nil {
		path, schema = "output_config.format.schema", c.root.given("output_config").given("format").get("schema")
	}
	var refusal *rule.Refusal
	each(schema, func(v *node) {
		kind := v.get("type").str()
		for _, word := range bounds[kind] {
			if refusal == nil && v.get(word) != nil {
				refusal = invalid("%s: For '%s' type, property '%s' is not supported", path, kind, word)
			}
		}
	})
	return refusal
}
