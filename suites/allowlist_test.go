package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("Only models of the list are asked", Label("MOD"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("MOD-001 Ask only models of the allowlist")
		its.holds("MOD-002 Keep the model for the whole conversation unless told to switch")
		its.holds("MOD-003 Refuse a model outside the allowlist before any traffic")
		its.holds("MOD-004 Answer with the model that the request names")
	})
})
