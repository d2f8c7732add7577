package openai

import (
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/wires/rule"
)

// Check returns the first rule that a request to POST /v1/responses breaks, in
// the order in which the API looks: credential, JSON, schema place by place,
// model, stored state, form of the answer, tools, pairs of items, seals. nil is a request that the
// API accepts. It is pure and safe for concurrent use.
func Check(r *http.Request, body []byte, env rule.Env) *rule.Refusal {
	return Parse(r, body).Check(env)
}

// Check is the function Check.
func (r Request) Check(env rule.Env) *rule.Refusal {
	q := r.q
	q.openTokens(env.Key)
	if refusal := rule.First(accessRules, q, env); refusal != nil {
		return refusal
	}
	for _, b := range q.schemaBreaches() {
		if refusal := rule.First(shapeRules, b, env); refusal != nil {
			return refusal
		}
	}
	return rule.First(meaningRules, q, env)
}

// Rules states the rules in the order in which Check applies them.
func Rules() []rule.Info {
	return slices.Concat(rule.Infos(accessRules), rule.Infos(shapeRules), rule.Infos(meaningRules))
}

// meaningRules are about a request that has the right form.
var meaningRules = slices.Concat(modelRules, stateRules, formatRules, toolRules, fileRules, pairRules, tokenRules, sizeRules)

// The sources of a rule.
const (
	recorded   = "recorded"
	documented = "documented"
	reported   = "reported"
	inferred   = "inferred"
)

// liveRule is one rule about a whole request, enforced from Live on.
func liveRule(id, what, source string, sure rule.Confidence, broken func(*request, rule.Env) *rule.Refusal) rule.Rule[*request] {
	return rule.Rule[*request]{Info: rule.Info{ID: id, Demand: what, Source: source, Confidence: sure, Least: rule.Live}, Broken: broken}
}

// judged is r as a rule by which the referee judges an aspect of a requirement.
func judged(aspect string, r rule.Rule[*request], run func(*request, *rule.Pass)) rule.Rule[*request] {
	r.Aspect, r.Run = aspect, run
	return r
}

// everywhere is r as a rule that the referee holds requests to any host to.
func everywhere(r rule.Rule[*request]) rule.Rule[*request] {
	r.Hosts = rule.AnyHost
	return r
}

// strictRule is a rule that the live API enforces at times or that few reports
// speak of.
func strictRule(r rule.Rule[*request]) rule.Rule[*request] {
	r.Least = rule.Strict
	return r
}

// basicRule is a rule without which there is nothing to answer.
func basicRule(r rule.Rule[*request]) rule.Rule[*request] {
	r.Least = rule.Lenient
	return r
}

// shapeRules judge one breach of the schema each: which of them answers is
// decided by the place in the request that is looked at first.
var shapeRules = []rule.Rule[breach]{
	shapeRule(breachCore, rule.Lenient, "O-3", "the request names a model and has an input", reported),
	shapeRule(breachMissing, rule.Live, "O-3", "mandatory parameters are there, a reasoning item's summary too (OAI-R1)", reported),
	shapeRule(breachUnknown, rule.Strict, "O-4", "there is no unknown parameter, at any depth; live notes one, for it may be new", recorded),
	shapeRule(breachType, rule.Live, "O-5", "values have the documented type; a call's arguments are a string", recorded),
	shapeRule(breachValue, rule.Live, "O-5", "enumerations have a documented value", recorded),
	shapeRule(breachRange, rule.Live, "O-6", "numbers are in their range", recorded),
	shapeRule(breachLength, rule.Live, "O-7", "strings, arrays and objects have a length in their range; a call_id 1 to 64 characters", reported),
	shapeRule(breachID, rule.Live, "O-8", "an item's id has its type's prefix, and letters, digits, _ and - only", reported),
	shapeRule(breachPart, rule.Live, "O-16", "content parts fit the role: output_text and refusal for the assistant", reported),
	shapeRule(breachName, rule.Live, "O-18", "a tool's name has letters, digits, _ and - only", reported),
}

func shapeRule(k breachKind, least rule.Level, id, what, source string) rule.Rule[breach] {
	return rule.Rule[breach]{
		Info: rule.Info{ID: id, Demand: what, Source: source, Confidence: rule.High, Least: least},
		Broken: func(b breach, _ rule.Env) *rule.Refusal {
			if b.kind != k {
				return nil
			}
			return b.Refusal
		},
	}
}
