package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A streamed reply is read to its end, and a broken one is not taken for a whole one", Label("STR"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("STR-001 Frame a stream as its content type demands")
		its.holds("STR-002 End a stream with the provider's terminal event")
		its.holds("STR-003 Follow the grammar of Anthropic streams")
		its.holds("STR-004 Follow the grammar of OpenAI streams")
		its.holds("STR-005 Follow the grammar of Gemini streams")
		its.holds("STR-006 Send deltas that add up to the final text")
		its.holds("STR-007 Do not return a broken turn as if it were complete")
		its.holds("STR-008 Do not report success after a reply that failed")
		its.holds("STR-009 Answer malformed tool calls with an error instead of running them")
		its.holds("STR-010 Do not report success after a reply that is no answer")
		its.holds("STR-011 Do not fail because a reply holds something unknown")
	})
})
