package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// levelOrBudget: a request says how much to think in one way (G-23).
func levelOrBudget(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Gemini, func(x *exchange) {
		level, _ := x.member("generationConfig", "thinkingConfig", "thinkingLevel")
		budget, at := x.member("generationConfig", "thinkingConfig", "thinkingBudget")
		if level.Null() && budget.Null() {
			return
		}
		r.addObserved(1)
		if !level.Null() && !budget.Null() {
			r.addFinding(x, at, "G-23", "thinkingBudget and thinkingLevel are both set")
		}
	})
}

// levelByModel: not every model has every level (G-24).
func levelByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Gemini, func(x *exchange) {
		level, at := x.member("generationConfig", "thinkingConfig", "thinkingLevel")
		if !level.Is(tree.String) {
			return
		}
		r.addObserved(1)
		switch name := strings.ToUpper(level.Text()); {
		case name == "THINKING_LEVEL_UNSPECIFIED":
		case !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, name):
			r.addFinding(x, at, "G-3", "there is no thinkingLevel %s", cutText(name, 40))
		case x.can.Levels != nil && !slices.Contains(x.can.Levels, name):
			r.addFinding(x, at, "G-24", "%s does not take thinkingLevel %s, only %s", x.req.Model, cutText(name, 40), orNone(x.can.Levels))
		}
	})
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "a budget"
	}
	return strings.Join(list, ", ")
}

// budgetByModel: a model that always thinks takes no budget of 0, and each has bounds
// (G-25). -1 leaves it to the model.
func budgetByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Gemini, func(x *exchange) {
		n, at := x.member("generationConfig", "thinkingConfig", "thinkingBudget")
		budget, err := strconv.Atoi(n.Raw())
		if err != nil || budget == -1 || budget >= 0 && x.can.Budget == nil && !x.can.DoesRefuse("zero budget") {
			return
		}
		r.addObserved(1)
		switch {
		case budget < 0:
			r.addFinding(x, at, "G-25", "thinkingBudget is %d", budget)
		case budget == 0 && x.can.DoesRefuse("zero budget"):
			r.addFinding(x, at, "G-25", "thinkingBudget is 0 and %s always thinks", x.req.Model)
		case budget > 0 && x.can.Budget != nil && (budget < x.can.Budget[0] || budget > x.can.Budget[1]):
			r.addFinding(x, at, "G-25", "thinkingBudget is %d; %s takes %d to %d", budget, x.req.Model, x.can.Budget[0], x.can.Budget[1])
		}
	})
}

// circulationByModel: what the provider's own tools did is sent back only from Gemini 3
// on (G-26).
func circulationByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Gemini, func(x *exchange) {
		n, at := x.member("toolConfig", "includeServerSideToolInvocations")
		m := specs.ParseModel(x.modelAsked())
		if m.Family != "gemini" || !m.HasVersion() || x.req.Tools == nil && n == nil {
			return
		}
		r.addObserved(1)
		if n.True() && m.IsBefore(3, 0) {
			r.addFinding(x, at, "G-26", "%s does not take includeServerSideToolInvocations", x.modelAsked())
		}
	})
}

// logprobsByModel: the Developer API gives no probabilities of tokens from Gemini 2.5 on
// (G-34). Vertex AI gives those of some models.
func logprobsByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Gemini, func(x *exchange) {
		n, at := x.member("generationConfig", "responseLogprobs")
		m := specs.ParseModel(x.modelAsked())
		if m.Family != "gemini" || !m.HasVersion() || !x.isPublicAPI() {
			return
		}
		r.addObserved(1)
		if n.True() && !m.IsBefore(2, 5) {
			r.addFinding(x, at, "G-34", "%s does not take responseLogprobs", x.modelAsked())
		}
	})
}
