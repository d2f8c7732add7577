package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("What the model thought comes back as it was", Label("SIG"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("SIG-001 thinking comes back with its signature unchanged")
		its.holds("SIG-002 the open turn keeps all its thinking")
		its.holds("SIG-003 redacted thinking keeps its data")
		its.holds("SIG-004 thinking leads a continued tool turn")
		its.holds("SIG-005 thinking blocks are complete")
		its.holds("SIG-006 no hole in the thinking")
		its.holds("SIG-007 encrypted reasoning is the final one")
		its.holds("SIG-008 reasoning stays with its calls")
		its.holds("SIG-009 reasoning is followed by what it led to")
		its.holds("SIG-010 summaries keep their parts")
		its.holds("SIG-011 encrypted reasoning keeps its id")
		its.holds("SIG-012 requests are stateless and ask for their state")
		its.holds("SIG-013 nothing is named that is not stored")
		its.holds("SIG-014 the first call of a step is signed")
		its.holds("SIG-015 thought signatures keep their bytes")
		its.holds("SIG-016 a signature stays on its part")
		its.holds("SIG-017 every signed part comes back")
		its.holds("SIG-018 state goes to its provider only")
		its.holds("SIG-019 state goes to its model only")
		its.holds("SIG-020 messages keep their phase")
		its.holds("SIG-021 what is only carried comes back unchanged")
	})
})
