package suites

import (
	. "github.com/onsi/ginkgo/v2"

	_ "github.com/meerkat-go/conformance/wires/all"
)

var _ = Describe("Agents that work side by side stay apart", Label("OPS"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("OPS-001 a conversation holds only its own replies")
		its.holds("OPS-002 an agent's answer goes to the call that started it")
		its.holds("OPS-003 a finished agent is not started again on resume")
		its.holds("OPS-004 each agent gets its own task")
	})
})

var _ = Describe("An agent stops where its budget ends", Label("BUD"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("BUD-001 the limit of turns holds")
		its.holds("BUD-002 a short reply is not asked for again with the same limit")
	})
})
