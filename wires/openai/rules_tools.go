package openai

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var toolRules = []rule.Rule[*request]{
	liveRule("O-20", "the root of a function's schema is an object", reported, rule.Medium, rootObjects),
	liveRule("O-20", "the root of a function's schema makes no choice", reported, rule.High, rootsWithoutChoice),
	liveRule("O-20", "a function's schema has known types, an array's items, and what it refers to", reported, rule.High, soundSchemas),
	strictRule(liveRule("O-18", "each function has a name of its own; the words are inferred", inferred, rule.Low, namesUnique)),
	liveRule("O-19", "strict schemas are closed, require every key and have only keywords that can be enforced", recorded, rule.High, strictSchemas),
	judged("NSP-005/named", liveRule("O-32", "a call names the namespace of its tool where the tool is in no default one", reported, rule.Medium, nil), callsNameNamespace),
	liveRule("O-29", "tool_choice names a tool of the request, or requires any of its tools", inferred, rule.Medium, choiceExists),
}

// eachTool calls f for each function tool of the request with its path, until
// f refuses.
func (q *request) eachTool(f func(at string, tool *tree.Node) *rule.Refusal) *rule.Refusal {
	return eachFunction("tools", q.body.Get("tools").List(), f)
}

func eachFunction(at string, tools []*tree.Node, f func(string, *tree.Node) *rule.Refusal) *rule.Refusal {
	for i := range tools {
		tool, here := tools[i], fmt.Sprintf("%s[%d]", at, i)
		switch tool.Get("type").Text() {
		case "function":
			if refusal := f(here, tool); refusal != nil {
				return refusal
			}
		case "namespace":
			if refusal := eachFunction(here+".tools", tool.Get("tools").List(), f); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

func rootObjects(q *request, _ rule.Env) *rule.Refusal {
	return q.eachTool(func(at string, tool *tree.Node) *rule.Refusal {
		parameters := tool.Get("parameters")
		if !parameters.Is(tree.Object) || parameters.Get("type").Text() == "object" {
			return nil
		}
		got := "None"
		if t := parameters.Get("type"); t.Is(tree.String) {
			got = t.Text()
		}
		return invalid("invalid_function_parameters", at+".parameters",
			`Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`, tool.Get("name").Text(), got)
	})
}

func rootsWithoutChoice(q *request, _ rule.Env) *rule.Refusal {
	return q.eachTool(func(at string, tool *tree.Node) *rule.Refusal {
		for _, word := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
			if tool.Get("parameters").Given(word) != nil {
				return invalid("invalid_function_parameters", at+".parameters",
					"Invalid schema for function '%s': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.", tool.Get("name").Text())
			}
		}
		return nil
	})
}

func soundSchemas(q *request, _ rule.Env) *rule.Refusal {
	return q.eachTool(func(at string, tool *tree.Node) *rule.Refusal {
		var fault string
		parameters := tool.Get("parameters")
		if !parameters.Is(tree.Object) {
			return nil
		}
		tree.EachSchema(parameters, func(path []string, s *tree.Node) bool {
			fault = schemaFault(path, s, parameters)
			return fault == ""
		})
		if fault == "" && !tree.IsSchema(parameters) {
			fault = pythonValue(parameters) + " is not valid under any of the given schemas."
		}
		if fault == "" {
			return nil
		}
		return invalid("invalid_function_parameters", at+".parameters", "Invalid schema for function '%s': %s", tool.Get("name").Text(), fault)
	})
}

// schemaFault says what is wrong with one schema of a function's, "" for nothing.
func schemaFault(path []string, s, root *tree.Node) string {
	kind := s.Get("type")
	types := []*tree.Node{}
	switch {
	case kind.Is(tree.Array):
		types = kind.Items()
	case kind != nil:
		types = append(types, kind)
	}
	for i, t := range types {
		if !tree.IsSchemaType(t.Text()) {
			return pythonValue(kind) + " is not valid under any of the given schemas."
		}
		if t.Text() == "array" && s.Get("items") == nil && s.Get("prefixItems") == nil {
			if kind.Is(tree.Array) {
				path = appendContext(path, "type", fmt.Sprint(i))
			}
			return fmt.Sprintf("In context=%s, array schema missing items.", pythonTuple(path))
		}
	}
	if ref := s.Get("$ref").Text(); strings.HasPrefix(ref, "#") && tree.ResolvePointer(root, ref) == nil {
		return fmt.Sprintf("In context=%s, reference to component '%s' which was not found in the schema.", pythonTuple(path), ref)
	}
	return ""
}

// pythonValue writes a value as the API does, which is written in Python.
func pythonValue(v *tree.Node) string {
	return strings.ReplaceAll(v.Raw(), `"`, "'")
}

func namesUnique(q *request, _ rule.Env) *rule.Refusal {
	seen := map[clientTool]bool{}
	for _, t := range appendTools(nil, "", q.body.Get("tools").List()) { // those of items may repeat them: recorded
		if t.name != "" && seen[t] {
			return invalid("invalid_value", "tools", "Duplicate tool name '%s' in 'tools'. Tool names must be unique.", t.name)
		}
		seen[t] = true
	}
	return nil
}

func strictSchemas(q *request, _ rule.Env) *rule.Refusal {
	if format := q.body.Get("text").Get("format"); format.Get("strict").True() {
		if fault := schemaLooseness(nil, format.Get("schema")); fault != "" {
			return invalid("invalid_json_schema", "text.format.schema", "Invalid schema for response_format '%s': %s", format.Get("name").Text(), fault)
		}
	}
	return q.eachTool(func(at string, tool *tree.Node) *rule.Refusal {
		if !tool.Get("strict").True() {
			return nil
		}
		fault := schemaLooseness(nil, tool.Get("parameters"))
		if fault == "" {
			return nil
		}
		return invalid("invalid_function_parameters", at+".parameters", "Invalid schema for function '%s': %s", tool.Get("name").Text(), fault)
	})
}

// unenforceable are the keywords that a strict schema may not have.
var unenforceable = []string{"allOf", "oneOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"}

// schemaLooseness says what is not strict in a schema, "" when all is.
func schemaLooseness(context []string, schema *tree.Node) string {
	if !schema.Is(tree.Object) {
		return ""
	}
	if fault := looseObject(context, schema); fault != "" {
		return fault
	}
	for _, keyword := range unenforceable {
		if schema.Given(keyword) != nil {
			return fmt.Sprintf("In context=%s, '%s' is not permitted.", pythonTuple(context), keyword)
		}
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		group := schema.Get(keyword)
		for i, name := range group.Names() {
			if fault := schemaLooseness(appendContext(context, keyword, name), group.Items()[i]); fault != "" {
				return fault
			}
		}
	}
	for i := range schema.Get("anyOf").List() {
		if fault := schemaLooseness(appendContext(context, "anyOf", fmt.Sprint(i)), schema.Get("anyOf").List()[i]); fault != "" {
			return fault
		}
	}
	return schemaLooseness(appendContext(context, "items"), schema.Get("items"))
}

func appendContext(context []string, names ...string) []string {
	return append(context[:len(context):len(context)], names...)
}

// looseObject is about one object of a schema alone.
func looseObject(context []string, schema *tree.Node) string {
	properties := schema.Get("properties")
	if schema.Get("type").Text() != "object" && !properties.Is(tree.Object) {
		return ""
	}
	if extra := schema.Get("additionalProperties"); !extra.Is(tree.Bool) || extra.Raw()[0] != 'f' {
		return fmt.Sprintf("In context=%s, 'additionalProperties' is required to be supplied and to be false.", pythonTuple(context))
	}
	required := map[string]bool{}
	for _, name := range schema.Get("required").List() {
		required[name.Text()] = true
	}
	for _, name := range properties.Names() {
		if !required[name] {
			return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.",
				pythonTuple(context), name)
		}
	}
	return ""
}

// pythonTuple writes a context as the API does, which is written in Python.
func pythonTuple(context []string) string {
	if len(context) == 1 {
		return "('" + context[0] + "',)"
	}
	if len(context) == 0 {
		return "()"
	}
	return "('" + strings.Join(context, "', '") + "')"
}

// choiceExists is about functions and custom tools: hosted tools have no names.
func choiceExists(q *request, _ rule.Env) *rule.Refusal {
	choice := q.body.Given("tool_choice")
	if choice == nil {
		return nil
	}
	if choice.Text() == "required" && len(q.tools) == 0 && len(q.body.Get("tools").List()) == 0 && !q.body.Has("prompt") {
		return invalid("", "tool_choice", "Tool choice 'required' must be specified with 'tools' parameter.")
	}
	wanted := []*tree.Node{choice}
	if choice.Get("type").Text() == "allowed_tools" {
		wanted = choice.Get("tools").List()
	}
	var names map[string]bool
	for i := range wanted {
		t, name := wanted[i].Get("type").Text(), wanted[i].Get("name").Text()
		if t != "function" && t != "custom" || name == "" {
			continue
		}
		if names == nil {
			names = q.toolNames()
		}
		if !names[name] {
			return invalid("", "tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name)
		}
	}
	return nil
}

// toolNames are those of all tools that the request brings along.
func (q *request) toolNames() map[string]bool {
	names := map[string]bool{}
	for _, t := range q.tools {
		names[t.name] = true
	}
	return names
}
