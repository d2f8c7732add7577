package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// budgetBelowMax: thinking and answer share max_tokens, except where thinking is
// interleaved with tool calls.
func budgetBelowMax(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		budget, at := x.member("thinking", "budget_tokens")
		limit, _ := x.member("max_tokens")
		if thinkingType(x) != "enabled" || budget.Int() < 0 || limit.Int() < 0 {
			return
		}
		betas := betasOf(x)
		interleaved := betas == nil || slices.ContainsFunc(betas, func(b string) bool { return strings.HasPrefix(b, "interleaved-thinking") })
		if len(x.req.Tools.List()) > 0 && interleaved {
			return
		}
		r.addObserved(1)
		if budget.Int() >= limit.Int() {
			r.addFinding(x, at, "A-25", "budget_tokens %d is not below max_tokens %d", budget.Int(), limit.Int())
		}
	})
}

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

// samplingWhileThinking: with thinking on, temperature is 1, top_p at least 0.95, and
// there is no top_k.
func samplingWhileThinking(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		if t := thinkingType(x); t != "enabled" && t != "adaptive" {
			return
		}
		r.addObserved(1)
		for _, p := range []struct {
			name     string
			from, to float64
		}{{"temperature", 1, 1}, {"top_p", 0.95, 1}, {"top_k", -1, 0}} {
			n, at := x.member(p.name)
			v, err := strconv.ParseFloat(n.Raw(), 64)
			if isDefault := v == -1 && p.name != "temperature"; err == nil && !isDefault && (v < p.from || v > p.to) {
				r.addFinding(x, at, "A-27", "%s is %s while thinking is on", p.name, n.Raw())
			}
		}
	})
}

// samplingByModel: newer models have no sampling parameters.
func samplingByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		if !x.can.DoesRefuse("sampling") {
			return
		}
		r.addObserved(1)
		for _, name := range []string{"temperature", "top_p", "top_k"} {
			if n, at := x.member(name); !n.Null() && (name != "temperature" || n.Raw() != "1") {
				r.addFinding(x, at, "A-31", "%s does not take %s", x.req.Model, name)
			}
		}
	})
}

// oneSampling: some models take temperature or top_p, not both. Where thinking is on,
// its own rule holds.
func oneSampling(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		t := thinkingType(x)
		if !x.can.DoesRefuse("temperature beside top_p") || t == "enabled" || t == "adaptive" {
			return
		}
		r.addObserved(1)
		temperature, _ := x.member("temperature")
		if topP, at := x.member("top_p"); !temperature.Null() && !topP.Null() {
			r.addBare(x, at, "A-31", "temperature and top_p are both set, and %s takes one of them; Anthropic says \"`temperature` and `top_p` cannot both be specified for this model\" (A-31)", x.req.Model)
		}
	})
}

// samplingWhileReasoning: OpenAI's models take temperature and top_p only while they do
// not reason (O-24), and give log probabilities only then (O-34).
func samplingWhileReasoning(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.OpenAI, func(x *exchange) {
		effort := x.req.Doc.Get("reasoning").Get("effort").Text()
		reasons := map[string]bool{"always": true, "on": effort != "none", "off": effort != "" && effort != "none"}[x.can.Reasoning]
		if !reasons {
			return
		}
		r.addObserved(1)
		for _, name := range []string{"temperature", "top_p"} {
			if n, at := x.member(name); n.Is(tree.Number) && strings.TrimRight(n.Raw(), ".0") != "1" {
				r.addFinding(x, at, "O-24", "%s does not take %s while it reasons", x.req.Model, name)
			}
		}
		include, at := x.member("include")
		if slices.ContainsFunc(include.List(), func(n *tree.Node) bool { return n.Text() == "message.output_text.logprobs" }) {
			r.addFinding(x, at, "O-34", "include asks for log probabilities, and %s gives none while it reasons", x.req.Model)
		} else if n, at := x.member("top_logprobs"); n.Int() > 0 {
			r.addBare(x, at, "O-34", "top_logprobs is %s, and %s gives no log probabilities while it reasons", n.Raw(), x.req.Model).Consequence = specs.Degraded
		}
	})
}

// thinkingTypeByModel: each model takes its own forms of thinking (A-28…A-30).
func thinkingTypeByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		form := thinkingType(x)
		rule := map[string]string{"enabled": "A-28", "adaptive": "A-29", "disabled": "A-30"}[form]
		if rule == "" || x.can.Thinking == nil {
			return
		}
		r.addObserved(1)
		_, at := x.member("thinking", "type")
		effort := x.req.Doc.Get("output_config").Get("effort").Text()
		switch {
		case !slices.Contains(x.can.Thinking, form):
			r.addFinding(x, at, rule, "%s does not take thinking %q, only %s", x.req.Model, form, strings.Join(x.can.Thinking, ", "))
		case form == "disabled" && x.can.DoesRefuse("disabled at xhigh") && (effort == "xhigh" || effort == "max"):
			r.addFinding(x, at, rule, "%s does not take disabled thinking with effort %s", x.req.Model, effort)
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

// efforts are those that some model has.
var efforts = map[string][]string{
	evidence.Anthropic: {"low", "medium", "high", "xhigh", "max"}, evidence.OpenAI: {"none", "minimal", "low", "medium", "high", "xhigh", "max"},
}

// effortByModel: a model takes only the efforts it has (A-32, O-22, O-23).
func effortByModel(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		reasoning, _ := x.member("reasoning")
		for i, name := range namesOf(reasoning) {
			if x.Provider == evidence.OpenAI && x.can.Reasoning == "never" && name != "effort" && !reasoning.Items()[i].Null() {
				r.addFinding(x, wire.Place{Event: -1, Off: reasoning.Offset(), Path: "reasoning." + name}, "O-22", "%s does not reason", x.req.Model)
			}
		}
		path := []string{"reasoning", "effort"}
		if x.Provider == evidence.Anthropic {
			path[0] = "output_config"
		}
		n, at := x.member(path...)
		if x.Provider == evidence.Gemini || !n.Is(tree.String) {
			return
		}
		r.addObserved(1)
		switch {
		case !slices.Contains(efforts[x.Provider], n.Text()):
			r.addFinding(x, at, byProvider(x, "A-7", "O-5", ""), "the effort %q is none of %s", cutText(n.Text(), 20), strings.Join(efforts[x.Provider], ", "))
		case x.can.Efforts == nil:
		case len(x.can.Efforts) == 0:
			r.addFinding(x, at, byProvider(x, "A-32", "O-22", ""), "%s takes no effort", x.req.Model)
		case !slices.Contains(x.can.Efforts, n.Text()):
			r.addFinding(x, at, byProvider(x, "A-32", "O-23", ""), "%s does not take effort %q, only %s", x.req.Model, cutText(n.Text(), 20), strings.Join(x.can.Efforts, ", "))
		}
	})
}

// encryptedContentByModel: a model that does not reason has no encrypted reasoning (O-21).
func encryptedContentByModel(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.OpenAI, func(x *exchange) {
		include, at := x.member("include")
		if x.can.Reasoning == "" || len(include.List()) == 0 {
			return
		}
		r.addObserved(1)
		if x.asksForReasoning() && x.can.Reasoning == "never" {
			r.addFinding(x, at, "O-21", "include asks %s, which does not reason, for reasoning.encrypted_content", x.req.Model)
		}
	})
}
