package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("Media are what the provider can use", Label("MED"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("MED-001 Keep a request within the provider's size limit")
		its.holds("MED-002 Declare documents with the type of their content")
		its.holds("MED-003 Send an image as an image, not as base64 text")
		its.holds("MED-004 Leave refused media out of later requests")
		its.holds("MED-005 Give media addresses that the provider can reach")
	})
})

var _ = Describe("Compactions come back as they were", Label("CMP"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("CMP-001 Return a compaction item under the id it was issued with")
		its.holds("CMP-002 Send a compaction only to the provider, host and model that wrote it")
		its.holds("CMP-003 Begin the next input with every item that compact returned")
		its.holds("CMP-004 Return a compaction as its item while it replaces history")
		its.holds("CMP-005 Put only the provider's ciphertext into a compaction item")
		its.holds("CMP-006 Return a compaction block with its summary unchanged")
	})
})

var _ = Describe("Tools that are searched for can be found", Label("NSP"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("NSP-001 Return a tool search with the calls of the tools it found")
		its.holds("NSP-002 Answer every client-run tool search under its call id")
		its.holds("NSP-003 Declare every tool that the history refers to")
		its.holds("NSP-004 Load at least one tool and never defer the search tool")
		its.holds("NSP-005 Name the namespace of the tool in every call that needs one")
	})
})

var _ = Describe("What the provider's own tools left stays whole", Label("SRV"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("SRV-001 Keep provider tool calls and their results together")
		its.holds("SRV-002 Name the container that waits for the result of a call")
		its.holds("SRV-003 Return a program's call with its caller unchanged")
		its.holds("SRV-004 Answer the calls of a program with results alone")
		its.holds("SRV-005 Return a paused turn unchanged and let it go on")
		its.holds("SRV-006 Send an approval only for a request that stands before it")
		its.holds("SRV-007 Return a citation with its encrypted_index unchanged")
		its.holds("SRV-008 Return the results and citations of the provider's tools")
	})
})

var _ = Describe("Betas come with what belongs to them", Label("BET"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("BET-001 Send the beta header of every block in the history")
		its.holds("BET-002 Declare a beta's tool in the version that the beta header names")
		its.holds("BET-003 Send Vertex AI and Bedrock a body in the form of the cloud")
		its.holds("BET-004 Send the same betas in every request of a turn")
	})
})

var _ = Describe("A run recovers from a failure", Label("REC"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("REC-001 Wait before a retry as long as the provider asks")
		its.holds("REC-002 Do not repeat a request that no retry can make pass")
		its.holds("REC-003 Send a shorter conversation after a request was too long")
		its.holds("REC-004 Retry a model call without running its tools again")
	})
})
