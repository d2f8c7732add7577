package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A conversation keeps its order", Label("ORD"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("ORD-001 every tool call is answered by the next message")
		its.holds("ORD-002 a tool call is answered once")
		its.holds("ORD-003 no result without its call")
		its.holds("ORD-004 results come first")
		its.holds("ORD-005 ids are used once")
		its.holds("ORD-006 one content answers one step")
		its.holds("ORD-007 function calls follow a user content")
		its.holds("ORD-008 blocks keep their order")
		its.holds("ORD-009 calls are neither lost nor invented")
		its.holds("ORD-010 nothing is sent back twice")
		its.holds("ORD-011 calls keep name and arguments")
		its.holds("ORD-012 results follow the order of the calls, in one message")
		its.holds("ORD-013 text is sent back as it was")
		its.holds("ORD-014 nothing is empty")
		its.holds("ORD-015 ids, roles and arguments have the provider's form")
		its.holds("ORD-016 the client speaks last")
	})
})
