package mutate

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// checkExamples judges the two examples of a requirement by its own checks: they
// must find something in the failing one, and nothing in the passing one, of which
// they must have seen something.
func (t *Table) checkExamples(rules []report.Rule) {
	requirement := rules[0].Requirement
	if requirement.Examples.IsZero() {
		t.addFault("%s: has no examples; write a failing and a passing one", requirement.ID)
		return
	}
	failing := evidence.FromExample(requirement, requirement.Examples.Failing)
	if v, _ := combineResults(report.Judge(rules, &failing)); v != report.Fail && v != report.Warn {
		t.addFault("%s: the failing example is judged %s; no check notices it", requirement.ID, v)
	}
	passing := evidence.FromExample(requirement, requirement.Examples.Passing)
	if v, message := combineResults(report.Judge(rules, &passing)); v != report.Pass {
		t.addFault("%s: the passing example is judged %s: %s", requirement.ID, v, message)
	}
}
