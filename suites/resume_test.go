package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A resumed session goes on where it stopped", Label("RES"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("RES-001 resume sends the whole transcript")
		its.holds("RES-002 system prompt and tools stay")
		its.holds("RES-003 history is not rewritten")
		its.holds("RES-004 the last reply survives")
		its.holds("RES-005 resume closes what was open")
		its.holds("RES-006 resume repeats nothing")
		its.holds("RES-007 arguments sent again keep their order")
	})
})
