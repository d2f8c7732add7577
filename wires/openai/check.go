package openai

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Check returns the first rule that the request breaks, in the order in which the API looks: credential, JSON,
// schema place by place, model, stored state, form of the answer, tools, pairs of items, seals. nil is a request
// that the API accepts.
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

// The ways to state a rule, see package rule.
var (
	judged, everywhere, atPublicAPI, strictRule = rule.Judged[*request], rule.Everywhere[*request], rule.AtPublicAPI[*request], rule.FromStrict[*request]
	basicRule, liveRule                         = rule.Basic[*request], rule.FromLive[*request]
)

// shapeRules judge one breach of the schema each: which of them answers is
// decided by the place in the request that is looked at first.
var shapeRules = []rule.Rule[breach]{
	{Info: shapeInfo(rule.Lenient, "O-3", "the request names a model and has an input", reported), Broken: func(b breach, _ rule.Env) *rule.Refusal {
		if !b.isCore {
			return nil
		}
		return b.refusal()
	}},
	shapeRule(rule.Live, "O-3", "mandatory parameters are there, a reasoning item's summary too (OAI-R1)", reported, members.Missing),
	shapeRule(rule.Strict, "O-4", "there is no unknown parameter, at any depth; live notes one, for it may be new", recorded, members.Unknown, members.NoBeta),
	shapeRule(rule.Live, "O-5", "values have the documented type; a call's arguments are a string", recorded, members.WrongType, members.Null),
	shapeRule(rule.Live, "O-5", "enumerations have a documented value", recorded, members.WrongValue, members.UnknownType),
	shapeRule(rule.Live, "O-6", "numbers are in their range", recorded, members.OutOfRange),
	shapeRule(rule.Live, "O-7", "strings, arrays and objects have a length in their range; a call_id 1 to 64 characters", reported, members.WrongLength),
	shapeRule(rule.Live, "O-8", "an item's id has its type's prefix, and letters, digits, _ and - only", reported, members.WrongID),
	shapeRule(rule.Live, "O-16", "content parts fit the role: output_text and refusal for the assistant", reported, members.UnknownType),
	shapeRule(rule.Live, "O-18", "a tool's name has letters, digits, _ and - only", reported, members.WrongForm),
}

func shapeInfo(least rule.Level, id, what, source string) rule.Info {
	return rule.Info{ID: id, Demand: what, Source: source, Confidence: rule.High, Least: least}
}

func shapeRule(least rule.Level, id, what, source string, kinds ...members.Kind) rule.Rule[breach] {
	return rule.Rule[breach]{Info: shapeInfo(least, id, what, source), Broken: func(b breach, _ rule.Env) *rule.Refusal {
		if b.isCore || b.Rule != id || !slices.Contains(kinds, b.Kind) {
			return nil
		}
		return b.refusal()
	}}
}
