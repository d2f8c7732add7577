// Package vcrgomega has a Gomega matcher for the requests that a recorder of package
// vcr has seen:
//
//	Expect(rec).To(vcrgomega.Conform())
package vcrgomega

import (
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/meerkat-go/conformance/vcr"
)

// Conform succeeds when the requests of a [*vcr.Recorder] break no requirement of the
// referee's catalogue, and some requirement was seen. It ends the recording.
func Conform() types.GomegaMatcher { return &conformMatcher{} }

type conformMatcher struct{ verdict vcr.Verdict }

// Match judges the requests of a recorder.
func (m *conformMatcher) Match(actual any) (bool, error) {
	rec, ok := actual.(*vcr.Recorder)
	if !ok {
		return false, fmt.Errorf("vcrgomega.Conform: got a %T; give it the *vcr.Recorder of the test", actual)
	}
	var err error
	m.verdict, err = rec.Verdict()
	return m.verdict.Passed, err
}

// FailureMessage is the report of the referee.
func (m *conformMatcher) FailureMessage(any) string {
	return "The requests do not conform:\n" + m.verdict.Text
}

// NegatedFailureMessage is the report of the referee.
func (m *conformMatcher) NegatedFailureMessage(any) string {
	return "The requests conform, which was not expected:\n" + m.verdict.Text
}
