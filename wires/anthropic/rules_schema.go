package anthropic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// toolsOf lists the tools of a request.
func toolsOf(root *tree.Node) (tools []wire.Tool) {
	for i, n := range root.List("tools") {
		kind, path := n.Text("type"), fmt.Sprintf("tools[%d]", i)
		tools = append(tools, wire.Tool{
			Name: n.Text("name"), Node: n, Path: path, Schema: n.Get("input_schema"),
			SchemaPath: path + ".input_schema",
			IsClients:  kind == "" || kind == "custom", IsStrict: n.True("strict"),
		})
	}
	return tools
}

// apiPath is the path of a tool as the API writes it.
func apiPath(t *wire.Tool) string { return "tools." + strings.Trim(t.Path, "tols[]") + ".custom" }

// schemaSound leaves the type of the root to the members of the request.
func schemaSound(t *wire.Tool) rule.SchemaFault {
	switch root := t.Schema.Get("type"); {
	case root == nil:
		return rule.SchemaFault{Text: rule.RootType(t.Schema), Rule: "A-6"}
	case root.Text() != "object":
		return rule.SchemaFault{Text: rule.RootType(t.Schema)}
	}
	return invalidSchema(t, tree.FindSchemaFault(t.Schema, true, false))
}

func keywordsKnown(t *wire.Tool) rule.SchemaFault {
	return invalidSchema(t, tree.FindSchemaFault(t.Schema, false, false))
}

func invalidSchema(t *wire.Tool, f tree.SchemaFault) rule.SchemaFault {
	if f.Node == nil {
		return rule.SchemaFault{}
	}
	return rule.SchemaFault{Path: f.Path, Text: rule.BehindPath(f),
		Refusal: invalid("%s.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.", apiPath(t))}
}

func rootChoosesNothing(t *wire.Tool) rule.SchemaFault {
	for _, word := range []string{"oneOf", "allOf", "anyOf"} {
		if t.Schema.Given(word) != nil {
			return rule.SchemaFault{Path: "." + word,
				Text:    word + " stands at the root, where the provider takes no choice",
				Refusal: invalid("%s.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", apiPath(t))}
		}
	}
	return rule.SchemaFault{}
}

// propertyKey is what the name of an argument looks like. Names further inside are not looked at.
var propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func argumentsNamed(t *wire.Tool) rule.SchemaFault {
	for _, name := range t.Schema.Get("properties").Names() {
		if !propertyKey.MatchString(name) {
			return rule.SchemaFault{Path: ".properties",
				Text: fmt.Sprintf("the provider does not take the argument name %.80q", name),
				Refusal: invalid("%s.input_schema.properties: Property keys should match pattern '%s'", apiPath(t),
					propertyKey)}
		}
	}
	return rule.SchemaFault{}
}

// schemas holds the schema of each tool to what find looks for.
func schemas(find func(*wire.Tool) rule.SchemaFault) func(*call, *rule.Pass) {
	return func(c *call, p *rule.Pass) { p.JudgeSchemas(c.tools, find) }
}

// The limits of grammars that the API compiles (A-48, recorded).
const (
	maxStrict   = 20
	maxOptional = 24
	maxUnions   = 16
)

// strictFits counts over all strict tools of the request. An open schema is refused in the words
// of https://github.com/vercel/ai/issues/20681.
func strictFits(c *call, p *rule.Pass) {
	tools := slices.DeleteFunc(slices.Clone(c.tools), func(t wire.Tool) bool { return !t.IsStrict || !t.IsClients })
	var optional, unions int
	p.JudgeSchemas(tools, func(t *wire.Tool) rule.SchemaFault {
		n, o := countUnions(t.Schema)
		unions, optional = unions+n, optional+o
		if name := circularDefinition(t.Schema); name != "" {
			return rule.SchemaFault{Text: name + " refers to itself",
				Refusal: invalid("%s: Invalid schema: Circular reference detected in %s", apiPath(t), name)}
		}
		f := openObject(t.Schema, apiPath(t))
		if f.Text == "" && n == maxUnions { // recorded: sixteen pass over several tools, not in one
			f.Text = fmt.Sprintf("%d parameters have unions, which is too many for one tool", n)
			f.Refusal = invalid("Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.")
		}
		return f
	})
	for _, limit := range []struct {
		what    string
		n, most int
		words   string
	}{
		{"strict tools", len(tools), maxStrict,
			"Too many strict tools (%d). The maximum number of strict tools supported is %d. Try reducing the number of tools marked as strict."},
		{"optional parameters in strict tools", optional, maxOptional,
			"Schemas contains too many optional parameters (%d), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: %d)."},
		{"parameters with unions in strict tools", unions, maxUnions,
			"Schemas contains too many parameters with union types (%d parameters with type arrays or anyOf). This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: %d parameters with unions)."},
	} {
		if limit.n > limit.most {
			p.Report("tools", "%d %s; at most %d are taken", limit.n, limit.what,
				limit.most).Refuse(invalid(limit.words, limit.n, limit.most))
		}
	}
}

// openObject finds the first object of a schema that lets in what it does not name.
func openObject(schema *tree.Node, said string) rule.SchemaFault {
	for at, s := range tree.Schemas(schema) {
		closed := s.Get("additionalProperties")
		if s.Text("type") != "object" && s.Get("properties") == nil || closed.False() {
			continue
		}
		words := "' must be explicitly set to false"
		if closed != nil {
			words = ": " + closed.Raw() + "' is not supported. Please set 'additionalProperties' to false"
		}
		return rule.SchemaFault{Path: at.Path, Text: "additionalProperties is not false",
			Refusal: invalid("%s: For 'object' type, 'additionalProperties%s", said, words)}
	}
	return rule.SchemaFault{}
}

// countUnions counts the parameters that have several types, and those that may be left out.
func countUnions(schema *tree.Node) (unions, optional int) {
	for _, s := range tree.Schemas(schema) {
		properties, required := s.Get("properties"), s.List("required")
		for i, name := range properties.Names() {
			if !slices.ContainsFunc(required, func(r *tree.Node) bool { return r.Text() == name }) {
				optional++
			}
			if v := properties.Items()[i]; v.Get("type").Is(tree.Array) || v.Get("anyOf").Is(tree.Array) {
				unions++
			}
		}
	}
	return unions, optional
}

// circularDefinition names a definition of the schema that refers to itself, empty if there is none.
func circularDefinition(schema *tree.Node) string {
	for _, s := range tree.Schemas(schema) {
		if ref := s.Text("$ref"); ref == "#" || ref != "" && refersTo(schema, ref, ref, map[string]bool{}) {
			return ref[strings.LastIndexByte(ref, '/')+1:]
		}
	}
	return ""
}

// refersTo reports whether following references from one definition leads to another.
func refersTo(schema *tree.Node, from, to string, seen map[string]bool) bool {
	seen[from] = true
	for _, s := range tree.Schemas(tree.ResolvePointer(schema, from)) {
		if ref := s.Text("$ref"); ref != "" && (ref == to || !seen[ref] && refersTo(schema, ref, to, seen)) {
			return true
		}
	}
	return false
}

// outputSchema is the schema that the answer must follow, nil for none.
func (c *call) outputSchema() (path string, schema *tree.Node) {
	if old := c.root.Given("output_format"); old != nil {
		return "output_format.schema", old.Get("schema")
	}
	return "output_config.format.schema", c.root.Given("output_config").Given("format").Get("schema")
}

// judgeOutput holds the schema of the answer to what find looks for.
func judgeOutput(find func(schema *tree.Node, said string) rule.SchemaFault) func(*call, *rule.Pass) {
	return func(c *call, p *rule.Pass) {
		path, schema := c.outputSchema()
		if !schema.Is(tree.Object) {
			return
		}
		p.Observe()
		if f := find(schema, path); f.Text != "" {
			p.Report(path+f.Path, "the schema of the answer: %s", f.Text).Refuse(f.Refusal)
		}
	}
}

// bounds are the keywords that the API's grammars cannot hold to, by type.
var bounds = map[string][]string{
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"string":  {"minLength", "maxLength"},
	"array":   {"maxItems"},
}

// boundKeyword finds the first keyword of a schema that cannot be enforced.
func boundKeyword(schema *tree.Node, said string) rule.SchemaFault {
	for at, s := range tree.Schemas(schema) {
		kind := s.Text("type")
		for _, word := range bounds[kind] {
			if s.Given(word) != nil {
				return rule.SchemaFault{Path: at.Path + "." + word,
					Text:    word + " is not supported for the type " + kind,
					Refusal: invalid("%s: For '%s' type, property '%s' is not supported", said, kind, word)}
			}
		}
	}
	return rule.SchemaFault{}
}
