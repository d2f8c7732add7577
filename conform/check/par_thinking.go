package check

import (
	"slices"
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

// thinkingMatchesHistory: a request without thinking does not end with thinking of the
// model. In a tool loop the API then goes on without thinking.
func thinkingMatchesHistory(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		if len(x.runs) == 0 || !slices.Contains(x.can.Thinking, "enabled") {
			return
		}
		form := thinkingType(x)
		run := x.runs[len(x.runs)-1]
		if run.from < x.turn {
			return
		}
		r.addObserved(1)
		for i := run.from; i < run.to; i++ {
			if it := &x.req.Items[i]; it.Continuity() && (form == "" || form == "disabled") {
				f := r.addFinding(x, it.Place, "A-39", "the turn that goes on holds %s, and the request does not ask for thinking", it.What)
				if run.to < len(x.req.Items) {
					f.Consequence = "degraded"
				}
				return
			}
		}
	})
}
