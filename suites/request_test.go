package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A request asks for what the model takes", Label("PAR"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("PAR-001 the thinking budget fits")
		its.holds("PAR-002 sampling parameters only where they are taken")
		its.holds("PAR-003 thinking in a form that the model has")
		its.holds("PAR-004 an effort that the model has")
		its.holds("PAR-005 a tool choice that can be made")
		its.holds("PAR-006 members that the provider knows")
		its.holds("PAR-007 values of the right type and size")
		its.holds("PAR-008 tools that the provider can declare")
		its.holds("PAR-009 at most four cache marks, those of an hour first")
		its.holds("PAR-010 media that the provider reads")
		its.holds("PAR-011 headers and betas that belong together")
		its.holds("PAR-012 one state to go on with")
		its.holds("PAR-013 thinking and log probabilities that the Gemini model has")
	})
})

var _ = Describe("Tool schemas are ones that the provider takes", Label("TSC"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("TSC-001 a schema without a choice at its root")
		its.holds("TSC-002 names of arguments that the provider takes")
		its.holds("TSC-003 keywords as draft 2020-12 has them")
		its.holds("TSC-004 references that lead somewhere")
		its.holds("TSC-005 keywords at the types of Gemini's subset")
		its.holds("TSC-006 a strict schema with keywords that can be enforced")
		its.holds("TSC-007 an output format that can be enforced")
	})
})

var _ = Describe("A request is well formed on its own", Label("HYG"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("HYG-001 requests follow the provider's schema")
		its.holds("HYG-002 a member stands once")
		its.holds("HYG-003 a body is one JSON document")
		its.holds("HYG-004 a key stands in its header only")
		its.holds("HYG-005 credentials go to their provider")
		its.holds("HYG-006 one credential")
	})
})

var _ = Describe("A refusal is not repeated and not ignored", Label("ERR"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("ERR-001 the provider takes the form of every request")
		its.holds("ERR-002 what was refused is not sent again")
		its.holds("ERR-003 a reply can be read")
		its.holds("ERR-004 a turn that was declined leaves the conversation")
		its.holds("ERR-005 what was declined is not asked again")
	})
})

var _ = Describe("What only the log needs is masked in the log only", Label("RED"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("RED-001 redactors leave tokens and signed text alone")
		its.holds("RED-002 what the model said is not cleaned")
		its.holds("RED-003 a result is masked before it is sent, or not at all")
	})
})

var _ = Describe("The model is told the truth about its tools", Label("TOOL"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("TOOL-001 a tool that does not exist is answered as an error")
		its.holds("TOOL-002 a result is written out")
		its.holds("TOOL-003 a result that was cut says so")
		its.holds("TOOL-004 a tool is forced once")
	})
})

var _ = Describe("Tools of MCP servers reach the model and back", Label("MCP"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("MCP-001 a tool is found under the name it is offered by")
		its.holds("MCP-002 an error of a server is marked")
		its.holds("MCP-003 a list of tools grows at its end")
	})
})

var _ = Describe("What the provider keeps is gone on with, not sent again", Label("WSK"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("WSK-001 a WebSocket goes on with its own response")
		its.holds("WSK-002 what the provider holds is not sent again")
		its.holds("WSK-003 a new WebSocket gets the whole input")
		its.holds("WSK-004 a response that was not found is not named again")
	})
})

var _ = Describe("What was cached is read again", Label("CAC"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("CAC-001 nothing in the prompt changes by itself")
		its.holds("CAC-002 tools keep their order")
		its.holds("CAC-003 a cache that was written can be read")
		its.holds("CAC-004 a conversation keeps its cache key")
	})
})
