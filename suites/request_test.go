package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A request asks for what the model takes", Label("PAR"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("PAR-001 Set a thinking budget from 1024 tokens and below max_tokens")
		its.holds("PAR-002 Send sampling parameters only to models that accept them")
		its.holds("PAR-003 Ask for thinking in a form that the model supports")
		its.holds("PAR-004 Ask for an effort that the model supports")
		its.holds("PAR-005 Make a tool choice that tools and model allow")
		its.holds("PAR-006 Send every required member and no unknown one")
		its.holds("PAR-007 Give every member a value of the right type and range")
		its.holds("PAR-008 Declare tools with valid names and schemas")
		its.holds("PAR-009 Set at most four cache marks, those of one hour first")
		its.holds("PAR-010 Send media in types, sizes and numbers that the provider reads")
		its.holds("PAR-011 Send every header and beta that the request depends on")
		its.holds("PAR-012 Continue from a response or a conversation, never from both")
		its.holds("PAR-013 Configure Gemini thinking and log probabilities as the model allows")
	})
})

var _ = Describe("Tool schemas are ones that the provider takes", Label("TSC"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("TSC-001 Describe one object at the root of a tool schema")
		its.holds("TSC-002 Name tool arguments in characters that the provider accepts")
		its.holds("TSC-003 Use schema keywords as JSON Schema draft 2020-12 defines them")
		its.holds("TSC-004 Point schema references at parts of the schema")
		its.holds("TSC-005 Use Gemini's schema keywords only at the types that allow them")
		its.holds("TSC-006 Use only keywords in a strict schema that can be enforced")
		its.holds("TSC-007 Use only keywords in an output format that can be enforced")
	})
})

var _ = Describe("A request is well formed on its own", Label("HYG"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("HYG-001 Follow the provider's schema in every request")
		its.holds("HYG-002 Write each member of an object once")
		its.holds("HYG-003 Send exactly one well-formed JSON document as the body")
		its.holds("HYG-004 Send the API key in its header only")
		its.holds("HYG-005 Send credentials only to the provider they belong to")
		its.holds("HYG-006 Send exactly one credential in exactly one header")
	})
})

var _ = Describe("A refusal is not repeated and not ignored", Label("ERR"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("ERR-001 Send only requests whose form the provider accepts")
		its.holds("ERR-002 Do not resend a request that was refused for its form")
		its.holds("ERR-003 Answer a request with a reply that can be decoded")
		its.holds("ERR-004 Remove a turn that the model declined from later requests")
		its.holds("ERR-005 Do not repeat a request that the model or a filter declined")
	})
})

var _ = Describe("What only the log needs is masked in the log only", Label("RED"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("RED-001 Keep redactors away from tokens and signed text")
		its.holds("RED-002 Return the model's words without redaction or clean-up")
		its.holds("RED-003 Redact a tool result before its first sending or never")
	})
})

var _ = Describe("The model is told the truth about its tools", Label("TOOL"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("TOOL-001 Answer a call of an unknown tool with an error")
		its.holds("TOOL-002 Write tool results as text or JSON")
		its.holds("TOOL-003 Say in a tool result that it was truncated")
		its.holds("TOOL-004 Force a tool only once in a turn")
	})
})

var _ = Describe("Tools of MCP servers reach the model and back", Label("MCP"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("MCP-001 Run a tool under the name it was offered by")
		its.holds("MCP-002 Mark the error result of an MCP server with is_error")
		its.holds("MCP-003 Add new tools behind the tools already offered")
	})
})

var _ = Describe("What the provider keeps is gone on with, not sent again", Label("WSK"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("WSK-001 Continue only from a response that the WebSocket can use")
		its.holds("WSK-002 Send only new items beside previous_response_id")
		its.holds("WSK-003 Send the whole input when no response is continued")
		its.holds("WSK-004 Do not name a response again that was not found")
	})
})

var _ = Describe("What was cached is read again", Label("CAC"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("CAC-001 Keep clock times and random ids out of the prompt")
		its.holds("CAC-002 Send tools and their schemas in the same order every time")
		its.holds("CAC-003 Place cache marks where the written cache can be read again")
		its.holds("CAC-004 Keep the prompt_cache_key for the whole conversation")
	})
})
