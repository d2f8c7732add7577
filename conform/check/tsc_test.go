package check_test

import "testing"

var toolSchemas = []singleRequest{
	{"TSC-001/root", "A-7", "tools[0].input_schema.anyOf", anthropicSchema(`"anyOf":[{"required":["a"]}]`)},
	{"TSC-001/root", "", "", anthropicSchema(`"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"not":{"required":["b"]}`)},
	{"TSC-001/root", "O-20", "tools[0].parameters.enum", openAISchema(false, `"enum":[{}]`)},
	{"TSC-001/root", "O-20", "tools[0].parameters.oneOf", openAISchema(false, `"oneOf":[{"required":["a"]}]`)},
	{"TSC-001/root", "", "", openAISchema(false, `"properties":{"oneOf":{"oneOf":[{"type":"string"}]}}`)},
	{"TSC-002/argument-names", "A-7", "tools[0].input_schema.properties", anthropicSchema(`"properties":{"ok":{},"$top":{}}`)},
	{"TSC-002/argument-names", "A-7", "tools[0].input_schema.properties", anthropicSchema(`"properties":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":{}}`)},
	{"TSC-002/argument-names", "", "", anthropicSchema(`"properties":{"a.b-c_D9":{"type":"object","properties":{"filter[x]":{}}}}`)},
	{"TSC-003/keywords", "A-7", "tools[0].input_schema.properties.n.exclusiveMinimum", anthropicSchema(`"properties":{"n":{"exclusiveMinimum":true}}`)},
	{"TSC-003/keywords", "A-7", "tools[0].input_schema.properties.n.anyOf", anthropicSchema(`"properties":{"n":{"anyOf":[]}}`)},
	{"TSC-003/keywords", "A-7", "tools[0].input_schema.$defs.d.items.pattern", anthropicSchema(`"$defs":{"d":{"items":{"pattern":1}}}`)},
	{"TSC-003/keywords", "", "", anthropicSchema(`"properties":{"pattern":{"type":"string"},"n":{"exclusiveMinimum":0,"examples":[],"additionalProperties":true,"x-own":[1]}}`)},
	{"TSC-004/references", "O-20", "tools[0].parameters.properties.a.$ref", openAISchema(false, `"properties":{"a":{"$ref":"#/$defs/A"}}`)},
	{"TSC-004/references", "", "", openAISchema(false, `"properties":{"a":{"$ref":"#/$defs/A~1B"},"b":{"$ref":"#"},"c":{"$ref":"#/properties/a"},"d":{"$ref":"https://example.com/a.json"}},"$defs":{"A/B":{}}`)},
	{"TSC-004/references", "G-12", "tools[0].functionDeclarations[0].parametersJsonSchema.properties.a.items.$ref", geminiSchema(`parametersJsonSchema`, `"properties":{"a":{"type":"array","items":{"$ref":"#/$defs/A"}}}`)},
	{"TSC-004/references", "", "", geminiSchema(`parametersJsonSchema`, `"properties":{"a":{"$ref":"#/anyOf/1"}},"anyOf":[{},{}]`)},
	{"TSC-005/subset", "G-12", "tools[0].functionDeclarations[0].parameters.properties.a.enum", geminiSchema("parameters", `"properties":{"a":{"type":"integer","enum":["1"]}}`)},
	{"TSC-005/subset", "G-12", "tools[0].functionDeclarations[0].parameters.properties.a.enum[1]", geminiSchema("parameters", `"properties":{"a":{"type":"STRING","enum":["x",""]}}`)},
	{"TSC-005/subset", "G-12", "tools[0].functionDeclarations[0].parameters.properties.a.items", geminiSchema("parameters", `"properties":{"a":{"type":"string","items":{"type":"string"}}}`)},
	{"TSC-005/subset", "", "", geminiSchema("parameters", `"properties":{"a":{"type":"string","enum":["1"],"nullable":true},"enum":{"type":"number"}}`)},
	{"TSC-006/strict-keywords", "O-19", "tools[0].parameters.properties.a.allOf", openAISchema(true, `"properties":{"a":{"allOf":[{"type":"string"}]}}`)},
	{"TSC-006/strict-keywords", "", "", openAISchema(true, `"properties":{"a":{"anyOf":[{"type":"string"}]},"not":{"type":"string"}}`)},
	{"TSC-006/strict-keywords", "O-19", "text.format.schema.properties.a.oneOf", `{"model":"gpt-5.2","text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}}}}},"input":"hi"}`},
	{"TSC-007/output-keywords", "A-48", "output_config.format.schema.properties.a.maxLength", outputSchema(`{"type":"object","properties":{"a":{"type":"string","maxLength":9}}}`)},
	{"TSC-007/output-keywords", "", "", outputSchema(`{"type":"object","properties":{"a":{"type":"string","format":"date"},"b":{"maxLength":9}}}`)},
	{"TSC-007/output-closed", "A-48", "output_config.format.schema", outputSchema(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
	{"TSC-007/output-closed", "A-48", "output_config.format.schema.properties.a.items", outputSchema(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"array","items":{"type":"object","additionalProperties":{}}}}}`)},
	{"TSC-007/output-closed", "", "", outputSchema(`{"type":"object","additionalProperties":false,"properties":{"type":{"type":"string"},"properties":{"type":"number"}}}`)},
	{"TSC-007/output-closed", "", "", outputSchema(`{"type":"array","items":{"type":"string"}}`)},
}

func TestToolSchemas(t *testing.T) {
	testRequests(t, "TSC-", toolSchemas)
}

func anthropicSchema(members string) string {
	return `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object",` + members + `}}],MSG}`
}

func openAISchema(strict bool, members string) string {
	flag := map[bool]string{true: `"strict":true,`}[strict]
	return `{"model":"gpt-5.2","tools":[{"type":"function","name":"a",` + flag + `"parameters":{"type":"object",` + members + `}}],"input":"hi"}`
}

func geminiSchema(member, members string) string {
	return `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a","` + member + `":{"type":"object",` + members + `}}]}]}`
}

func outputSchema(schema string) string {
	return `{"model":"claude-opus-4-6","max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":` + schema + `}},MSG}`
}
