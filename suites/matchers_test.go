package suites

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/meerkat-go/conformance/conform/report"
)

// Hold matches the results of one requirement if none of them is a failure, not
// testable, a warning or an error of the harness. Its message is what the checks found: the
// exchange, the path, the message, the provider's rule and how to mend it.
func Hold() types.GomegaMatcher {
	return resultsMatcher{
		matches: func(results []report.Result) bool { return describeRed(results) == "" },
		message: describeRed,
	}
}

// FailBy matches results of which one fails the requirement, strictly.
func FailBy(requirement string) types.GomegaMatcher {
	return resultsMatcher{
		matches: func(results []report.Result) bool {
			for _, r := range results {
				if r.Requirement == requirement && (r.Verdict == report.Fail || r.Verdict == report.Warn) {
					return true
				}
			}
			return false
		},
		message: func(results []report.Result) string {
			return requirement + " does not fail. This does:\n" + describeRed(results)
		},
	}
}

// resultsMatcher matches a list of results.
type resultsMatcher struct {
	matches func([]report.Result) bool
	message func([]report.Result) string
}

// Match implements types.GomegaMatcher.
func (m resultsMatcher) Match(actual any) (bool, error) {
	results, ok := actual.([]report.Result)
	if !ok {
		return false, fmt.Errorf("the matcher takes a []report.Result, not a %T", actual)
	}
	return m.matches(results), nil
}

// FailureMessage implements types.GomegaMatcher.
func (m resultsMatcher) FailureMessage(actual any) string { return m.message(actual.([]report.Result)) }

// NegatedFailureMessage implements types.GomegaMatcher.
func (m resultsMatcher) NegatedFailureMessage(actual any) string {
	return "not expected:\n" + m.message(actual.([]report.Result))
}

// describeRed says why results are not a success, "" if they are.
func describeRed(results []report.Result) string {
	var b strings.Builder
	for _, r := range results {
		switch r.Verdict {
		case report.Fail, report.Warn: // strict
			for _, f := range r.Findings {
				describeFinding(&b, r, f)
			}
		case report.NotTestable, report.HarnessError:
			fmt.Fprintf(&b, "%s: %s: %s\n", r.Check, r.Verdict, r.Reason)
		default: // the rest is not a failure
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func describeFinding(b *strings.Builder, r report.Result, f report.Finding) {
	fmt.Fprintf(b, "%s: exchange %d", r.Check, f.Exchange)
	if f.Path != "" {
		fmt.Fprintf(b, ", %s", f.Path)
	}
	fmt.Fprintf(b, "\n    %s\n", f.Message)
	if f.Rule != "" {
		fmt.Fprintf(b, "    rule: %s\n", f.Rule)
	}
	if f.Fix != "" {
		fmt.Fprintf(b, "    fix: %s\n", f.Fix)
	}
}

var _ = Describe("The matchers of the suites", Label("suites"), func() {
	broken := report.Result{Requirement: "RES-002", Check: "RES-002/system", Verdict: report.Fail,
		Findings: []report.Finding{{
			Exchange: 1, Path: "system", Message: "changed", Rule: "A-7", Fix: "Keep it."}}}

	DescribeTable("print the finding", func(r report.Result, message string) {
		results := []report.Result{r}
		if message == "" {
			Expect(results).To(Hold())
			return
		}
		Expect(results).NotTo(Hold())
		Expect(Hold().FailureMessage(results)).To(Equal(message))
	},
		Entry("pass", report.Result{Verdict: report.Pass}, ""),
		Entry("warn", report.Result{Check: "RES-002/system", Verdict: report.Warn, Findings: broken.Findings},
			"RES-002/system: exchange 1, system\n    changed\n    rule: A-7\n    fix: Keep it."),
		Entry("not testable", report.Result{Check: "RES-002/system", Verdict: report.NotTestable,
			Reason: "nothing was seen"},
			"RES-002/system: not-testable: nothing was seen"),
		Entry("fail", broken, "RES-002/system: exchange 1, system\n    changed\n    rule: A-7\n    fix: Keep it."),
	)

	It("refuse what is no list of results", func() {
		_, err := Hold().Match("text")
		Expect(err).To(MatchError(ContainSubstring("not a string")))
	})

	It("find the failing requirement", func() {
		Expect([]report.Result{broken}).To(FailBy("RES-002"))
		Expect([]report.Result{broken}).NotTo(FailBy("RES-001"))
	})
})
