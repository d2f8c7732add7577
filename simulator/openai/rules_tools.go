package openai

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/simulator/rule"
)

var toolRules = []rule.Rule[*request]{
	demand("O-20", "the root of a function's schema is an object", reported, rule.Medium, rootObjects),
	demand("O-19", "strict schemas are closed and require every key", recorded, rule.High, strictSchemas),
	demand("O-29", "tool_choice names a tool of the request", inferred, rule.Medium, choiceExists),
}

// functions calls f for each function tool of the request with its path, until
// f refuses.
func (q *request) functions(f func(at string, tool *value) *rule.Refusal) *rule.Refusal {
	return eachFunction("tools", q.body.items("tools"), f)
}

func eachFunction(at string, tools []value, f func(string, *value) *rule.Refusal) *rule.Refusal {
	for i := range tools {
		tool, here := &tools[i], fmt.Sprintf("%s[%d]", at, i)
		switch tool.str("type") {
		case "function":
			if refusal := f(here, tool); refusal != nil {
				return refusal
			}
		case "namespace":
			if refusal := eachFunction(here+".tools", tool.items("tools"), f); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

func rootObjects(q *request, _ rule.Env) *rule.Refusal {
	return q.functions(func(at string, tool *value) *rule.Refusal {
		parameters := tool.get("parameters")
		if parameters.kind != object || parameters.str("type") == "object" {
			return nil
		}
		got := "None"
		if t := parameters.get("type"); t.kind == text {
			got = t.text
		}
		return invalid("invalid_function_parameters", at+".parameters",
			`Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`, tool.str("name"), got)
	})
}

func strictSchemas(q *request, _ rule.Env) *rule.Refusal {
	if format := q.body.get("text").get("format"); format.is("strict", false) {
		if fault := looseness(nil, format.get("schema")); fault != "" {
			return invalid("invalid_json_schema", "text.format.schema", "Invalid schema for response_format '%s': %s", format.str("name"), fault)
		}
	}
	return q.functions(func(at string, tool *value) *rule.Refusal {
		if !tool.is("strict", false) {
			return nil
		}
		fault := looseness(nil, tool.get("parameters"))
		if fault == "" {
			return nil
		}
		return invalid("invalid_function_parameters", at+".parameters", "Invalid schema for function '%s': %s", tool.str("name"), fault)
	})
}

// looseness says what is not strict in a schema, "" when all is.
func looseness(context []string, schema *value) string {
	if schema.kind != object {
		return ""
	}
	if fault := looseObject(context, schema); fault != "" {
		return fault
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		group := schema.get(keyword)
		for i, name := range group.names {
			if fault := looseness(deeper(context, keyword, name), &group.elems[i]); fault != "" {
				return fault
			}
		}
	}
	for i := range schema.items("anyOf") {
		if fault := looseness(deeper(context, "anyOf", fmt.Sprint(i)), &schema.items("anyOf")[i]); fault != "" {
			return fault
		}
	}
	return looseness(deeper(context, "items"), schema.get("items"))
}

func deeper(context []string, names ...string) []string {
	return append(context[:len(context):len(context)], names...)
}

// looseObject is about one object of a schema alone.
func looseObject(context []string, schema *value) string {
	properties := schema.get("properties")
	if schema.str("type") != "object" && properties.kind != object {
		return ""
	}
	if extra := schema.get("additionalProperties"); extra.kind != boolean || extra.raw[0] != 'f' {
		return fmt.Sprintf("In context=%s, 'additionalProperties' is required to be supplied and to be false.", tuple(context))
	}
	required := map[string]bool{}
	for _, name := range schema.items("required") {
		required[name.text] = true
	}
	for _, name := range properties.names {
		if !required[name] {
			return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.",
				tuple(context), name)
		}
	}
	return ""
}

// tuple writes a context as the API does, which is written in Python.
func tuple(context []string) string {
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
	choice := q.body.get("tool_choice")
	wanted := []value{*choice}
	if choice.str("type") == "allowed_tools" {
		wanted = choice.items("tools")
	}
	var names map[string]bool
	for i := range wanted {
		t, name := wanted[i].str("type"), wanted[i].str("name")
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
	var add func(tools []value)
	add = func(tools []value) {
		for i := range tools {
			names[tools[i].str("name")] = true
			add(tools[i].items("tools"))
		}
	}
	add(q.body.items("tools"))
	for i := range q.items {
		add(q.items[i].items("tools"))
	}
	return names
}
