package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("What the model thought comes back as it was", Label("SIG"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("SIG-001 Return thinking blocks with their signature unchanged")
		its.holds("SIG-002 Return all thinking of the open turn")
		its.holds("SIG-003 Return redacted thinking with its data unchanged")
		its.holds("SIG-004 Begin the last tool turn with its thinking")
		its.holds("SIG-005 Send thinking blocks complete")
		its.holds("SIG-006 Leave out thinking only from the start of the conversation")
		its.holds("SIG-007 Return the final encrypted content of a reasoning item")
		its.holds("SIG-008 Return reasoning together with the calls it led to")
		its.holds("SIG-009 Follow every reasoning item with another item of the model")
		its.holds("SIG-010 Return reasoning with the parts of its summary")
		its.holds("SIG-011 Return encrypted reasoning under its own id or without one")
		its.holds("SIG-012 Set store to false and ask for encrypted reasoning")
		its.holds("SIG-013 Refer only to responses and items that are stored")
		its.holds("SIG-014 Sign the first function call of each step of the current turn")
		its.holds("SIG-015 Return thought signatures byte for byte")
		its.holds("SIG-016 Return a thought signature on the part it was issued with")
		its.holds("SIG-017 Return every signed part with its signature")
		its.holds("SIG-018 Send signatures and ciphertext only to the issuing provider")
		its.holds("SIG-019 Send signatures and ciphertext only to the issuing model")
		its.holds("SIG-020 Return OpenAI messages with their phase")
		its.holds("SIG-021 Return ciphertext, provider results and namespaces unchanged")
	})
})
