package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A streamed reply is read to its end, and a broken one is not taken for a whole one", Label("STR"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("STR-001 a stream is framed as one")
		its.holds("STR-002 a stream says that it is over")
		its.holds("STR-003 Anthropic streams follow their grammar")
		its.holds("STR-004 OpenAI streams follow their grammar")
		its.holds("STR-005 Gemini streams follow their grammar")
		its.holds("STR-006 deltas add up to what is done")
		its.holds("STR-007 a partial turn is not history")
		its.holds("STR-008 a reply that failed is not a success")
		its.holds("STR-009 malformed calls are not run")
		its.holds("STR-010 a reply that is no answer is not a success")
		its.holds("STR-011 what is new in a reply ends no run")
	})
})
