package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("Only models of the list are asked", Label("MOD"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("MOD-001 only allowed models are asked")
		its.holds("MOD-002 the model stays the same")
		its.holds("MOD-003 a refused model causes no traffic")
		its.holds("MOD-004 the model that was asked for answers")
	})
})
