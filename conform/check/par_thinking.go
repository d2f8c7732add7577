package check

import (
	"strconv"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

func budgetMinimum(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		budget, at := x.member("thinking", "budget_tokens")
		if thinkingType(x) != "enabled" || !budget.Is(tree.Number) {
			return
		}
		r.addObserved(1)
		if v, err := strconv.ParseFloat(budget.Raw(), 64); err == nil && v < 1024 {
			r.addFinding(x, at, "A-7", "budget_tokens is %s; at least 1024 are needed", budget.Raw())
		}
	})
}
