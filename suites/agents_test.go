package suites

import (
	. "github.com/onsi/ginkgo/v2"

	_ "github.com/meerkat-go/conformance/wires/all"
)

var _ = Describe("Agents that work side by side stay apart", Label("OPS"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("OPS-001 Keep the replies of parallel conversations apart")
		its.holds("OPS-002 Return a sub-agent's answer to the call that started it")
		its.holds("OPS-003 Do not start a finished sub-agent again on resume")
		its.holds("OPS-004 Give each sub-agent the task of its own call")
	})
})

var _ = Describe("An agent stops where its budget ends", Label("BUD"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("BUD-001 Ask for no more replies than the limit of turns allows")
		its.holds("BUD-002 Do not repeat a request whose reply ended at the token limit")
	})
})
