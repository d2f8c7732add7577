package report

import (
	"cmp"
	"slices"

	"github.com/meerkat-go/conformance/conform/decide"
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
		return cmp.Or(a.Verdict.Rank()-b.Verdict.Rank(), cmp.Compare(len(a.Findings), len(b.Findings)))
	})
	if len(group) == 1 {
		return worst
	}
	worst.Runs = Counts{}
	for _, res := range group {
		worst.Runs[res.Verdict]++
	}
	worst.judgeAgain(decide.Facts{Runs: worst.Runs})
	return worst
}
