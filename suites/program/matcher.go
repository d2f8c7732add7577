package program

import (
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/meerkat-go/conformance/conform/report"
)

// hold matches a report.Result that is not red; its message is the complaint.
func hold() types.GomegaMatcher { return held{} }

type held struct{}

// Match implements types.GomegaMatcher.
func (held) Match(actual any) (bool, error) {
	r, ok := actual.(report.Result)
	if !ok {
		return false, fmt.Errorf("hold matches a report.Result, not a %T", actual)
	}
	return complaint(r) == "", nil
}

// FailureMessage implements types.GomegaMatcher.
func (held) FailureMessage(actual any) string {
	r, _ := actual.(report.Result)
	return complaint(r)
}

// NegatedFailureMessage implements types.GomegaMatcher.
func (held) NegatedFailureMessage(actual any) string {
	r, _ := actual.(report.Result)
	return fmt.Sprintf("%s on %s holds and should not", r.Check, r.Case)
}
