package suites

import (
	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("A resumed session goes on where it stopped", Label("RES"), func() {
	eachCase(func(its caseSpecs) {
		its.holds("RES-001 Send the whole transcript when a session resumes")
		its.holds("RES-002 Keep the system prompt and tools for the whole conversation")
		its.holds("RES-003 Do not rewrite the history of a conversation")
		its.holds("RES-004 Return every complete reply in the next request")
		its.holds("RES-005 Answer open tool calls when a session resumes")
		its.holds("RES-006 Repeat nothing when a session resumes")
		its.holds("RES-007 Write the arguments of a call the same way every time")
	})
})
