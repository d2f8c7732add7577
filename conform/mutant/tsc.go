package mutant

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

// toolSchemaMutants send schemas that the provider does not take.
var toolSchemaMutants = []Mutant{
	{"choice-at-root", "describes the arguments of a tool as a choice", []string{"TSC-001"}, changeToolSchema(func(schema, _ *tree.Node) bool {
		return setMember(schema, "anyOf", mustParse(`[{"required":["a"]},{"required":["b"]}]`))
	}, evidence.Anthropic, evidence.OpenAI)},
	{"bad-argument-name", "gives an argument a name that the provider does not take", []string{"TSC-002"}, changeToolSchema(func(schema, _ *tree.Node) bool {
		return setMember(schema, "properties", mustParse(`{"filter[id]":{"type":"string"}}`))
	}, evidence.Anthropic)},
	{"old-draft", "writes a keyword as draft 4 had it", []string{"TSC-003"}, changeToolSchema(func(schema, _ *tree.Node) bool {
		return setMember(schema, "properties", mustParse(`{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}`))
	}, evidence.Anthropic)},
	{"dangling-reference", "refers to a definition that was left out", []string{"TSC-004"}, changeToolSchema(func(schema, _ *tree.Node) bool {
		return setMember(schema, "properties", mustParse(`{"issue":{"$ref":"#/$defs/Issue"}}`))
	}, evidence.OpenAI)},
	{"number-enum", "lists numbers in an enum", []string{"TSC-005"}, changeToolSchema(func(schema, _ *tree.Node) bool {
		return setMember(schema, "properties", mustParse(`{"phases":{"type":"INTEGER","enum":[0,1,3]}}`))
	}, evidence.Gemini)},
	{"strict-choice", "uses oneOf in a strict schema", []string{"TSC-006"}, changeToolSchema(func(schema, tool *tree.Node) bool {
		return tool.Get("strict").True() && setMember(schema, "properties", mustParse(`{"data":{"oneOf":[{"type":"string"},{"type":"integer"}]}}`))
	}, evidence.OpenAI)},
	{"bounded-output", "bounds a number of the answer", []string{"TSC-007"}, changeRequest(func(e *editor) bool {
		schema := e.doc.Get("output_config").Get("format").Get("schema")
		return schema.Is(tree.Object) && setMember(schema, "properties", mustParse(`{"age":{"type":"integer","minimum":1}}`))
	}, evidence.Anthropic)},
	{"open-output", "lets anything into the answer", []string{"TSC-007"}, changeRequest(func(e *editor) bool {
		return dropMember(e.doc.Get("output_config").Get("format").Get("schema"), "additionalProperties")
	}, evidence.Anthropic)},
}

// changeToolSchema makes a mutant that changes the schema of the first tool for which
// change returns true.
func changeToolSchema(change func(schema, tool *tree.Node) bool, providers ...string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		return e.eachFunction(func(tool, _ *tree.Node) bool {
			schema := tool.Any("input_schema", "parameters")
			return schema.Is(tree.Object) && change(schema, tool)
		})
	}, providers...)
}
