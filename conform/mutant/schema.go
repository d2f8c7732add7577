package mutant

import "github.com/meerkat-go/conformance/conform/evidence"

// schemaMutants break what the schema of a request says of one field.
var schemaMutants = []Mutant{
	{"break-schema", "gives the limit of tokens as a text", []string{"HYG-001"}, changeRequest(func(e *editor) bool {
		at, name := e.doc, "max_tokens"
		switch e.x.Provider {
		case evidence.OpenAI:
			name = "max_output_tokens"
		case evidence.Gemini:
			at, name = e.doc.Get("generationConfig"), "maxOutputTokens"
			if at == nil {
				at = mustParse("{}")
				setMember(e.doc, "generationConfig", at)
			}
		}
		return setMember(at, name, jsonString("many"))
	})},
}
