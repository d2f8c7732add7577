package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FoldRepeats makes one result of those of a case that was run several times. Where
// its verdicts differ it is flaky, with the findings of the worst run. A fault of the
// harness stays one.
func FoldRepeats(results []Result) []Result {
	type name struct{ check, requirement, testCase string }
	groups := map[name][]Result{}
	var order []name
	for _, res := range results {
		key := name{res.Check, res.Requirement, res.Case}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], res)
	}
	folded := make([]Result, len(order))
	for i, key := range order {
		folded[i] = foldGroup(groups[key])
	}
	return folded
}

// foldGroup folds the results of one check and case, at least one.
func foldGroup(group []Result) Result {
	worst := slices.MaxFunc(group, func(a, b Result) int {
		return cmp.Or(a.Verdict.severityRank()-b.Verdict.severityRank(), cmp.Compare(len(a.Findings), len(b.Findings)))
	})
	if len(group) == 1 {
		return worst
	}
	worst.Runs = Counts{}
	for _, res := range group {
		worst.Runs[res.Verdict]++
	}
	differing := 0
	for _, v := range []Verdict{Pass, Warn, NotTestable, Fail} {
		if worst.Runs[v] > 0 {
			differing++
		}
	}
	if differing > 1 && worst.Verdict != HarnessError {
		worst.Reason = strings.TrimSuffix(fmt.Sprintf("differs between %d runs (%s): %s", len(group), worst.Runs, worst.Reason), ": ")
		worst.Verdict = Flaky
	}
	return worst
}
