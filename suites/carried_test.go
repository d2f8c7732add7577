package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("Media are what the provider can use", Label("MED"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("MED-001 a request fits")
		its.holds("MED-002 a document is what it is called")
		its.holds("MED-003 an image is sent as an image")
		its.holds("MED-004 refused media are left out")
		its.holds("MED-005 an address that the provider can reach")
	})
})

var _ = Describe("Compactions come back as they were", Label("CMP"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("CMP-001 a compaction keeps its id")
		its.holds("CMP-002 a compaction goes to its origin only")
		its.holds("CMP-003 a compacted window is used whole")
		its.holds("CMP-004 a compaction is not lost")
		its.holds("CMP-005 a compaction holds ciphertext")
		its.holds("CMP-006 a compaction block keeps its summary")
	})
})

var _ = Describe("Tools that are searched for can be found", Label("NSP"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("NSP-001 a search for tools stays with its calls")
		its.holds("NSP-002 a search for tools has its output")
		its.holds("NSP-003 a tool that was found is declared")
		its.holds("NSP-004 some tool is not deferred")
		its.holds("NSP-005 a call names where its tool is loaded")
	})
})

var _ = Describe("What the provider's own tools left stays whole", Label("SRV"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("SRV-001 a call and the result of the provider's tool stay together")
		its.holds("SRV-002 a container that waits is named")
		its.holds("SRV-003 a call says who made it")
		its.holds("SRV-004 a program is answered by results alone")
		its.holds("SRV-005 a turn that paused goes on")
		its.holds("SRV-006 an approval answers a request")
		its.holds("SRV-007 a citation keeps its place")
		its.holds("SRV-008 what the provider's tools found is sent back")
	})
})

var _ = Describe("Betas come with what belongs to them", Label("BET"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("BET-001 the history of a beta has its header")
		its.holds("BET-002 a tool and its beta are of one version")
		its.holds("BET-003 a cloud gets a body in its form")
		its.holds("BET-004 a turn keeps its betas")
	})
})

var _ = Describe("A run recovers from a failure", Label("REC"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("REC-001 a retry waits as long as it is asked to")
		its.holds("REC-002 what cannot pass is not asked again")
		its.holds("REC-003 what was too long comes back shorter")
		its.holds("REC-004 a retry runs no tool again")
	})
})
