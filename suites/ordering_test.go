package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A conversation keeps its order", Label("ORD"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("ORD-001 Answer every tool call in the next message")
		its.holds("ORD-002 Answer each tool call only once")
		its.holds("ORD-003 Send no tool result without its call")
		its.holds("ORD-004 Put tool results before other content in the user turn")
		its.holds("ORD-005 Use each call id and item id only once in a request")
		its.holds("ORD-006 Answer a Gemini step with one content that holds all its results")
		its.holds("ORD-007 Put function calls after a user content or function responses")
		its.holds("ORD-008 Return the blocks of a reply in their order")
		its.holds("ORD-009 Return exactly the tool calls that the reply emitted")
		its.holds("ORD-010 Return each block of a reply only once")
		its.holds("ORD-011 Return tool calls with their name and arguments unchanged")
		its.holds("ORD-012 Send parallel results in one message, in the order of the calls")
		its.holds("ORD-013 Return the text of a reply unchanged")
		its.holds("ORD-014 Send no empty message, block or content")
		its.holds("ORD-015 Write ids, roles and arguments in the provider's form")
		its.holds("ORD-016 End every request with something the client says")
	})
})
