package gemini

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// rules are all that is demanded of a request, in the order in which the API
// checks: who asks, whether the front end can transcode the body, whether there
// is the model, then what the backend holds against values, turns, settings and
// signatures (reference §5.3).
var rules = slices.Concat(callerRules, transcodingRules, modelRules, valueRules, turnRules, settingRules, signatureRules)

// Check returns the first rule that a generate or count request breaks, nil when
// it is accepted. It never panics and is safe for concurrent use.
func Check(r *http.Request, body []byte, env rule.Env) *rule.Refusal {
	return Parse(r, body).Check(env)
}

// Check is the function Check.
func (r Request) Check(env rule.Env) *rule.Refusal {
	q := r.q
	refusal := rule.First(rules, q, env)
	if refusal != nil {
		refusal.Listed = formOf(q.Request, q.method) == script.FormArray
	}
	return refusal
}

// Rules states the rules in the order in which they are checked.
func Rules() []rule.Info { return rule.Infos(rules) }

// liveRule is a rule that is enforced from Live on.
func liveRule(id, demand, source string, sure rule.Confidence, broken func(*request, rule.Env) *rule.Refusal) rule.Rule[*request] {
	return rule.Rule[*request]{Info: rule.Info{ID: id, Demand: demand, Source: source, Confidence: sure, Least: rule.Live}, Broken: broken}
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

// atPublicAPI is r as a rule that the referee holds requests to the public API to.
func atPublicAPI(r rule.Rule[*request]) rule.Rule[*request] {
	r.Hosts = rule.PublicAPI
	return r
}

// strictRule is a rule that only strictness asks for.
func strictRule(r rule.Rule[*request]) rule.Rule[*request] {
	r.Least = rule.Strict
	return r
}

// basicRule is a rule without which there is nothing to answer.
func basicRule(r rule.Rule[*request]) rule.Rule[*request] {
	r.Least = rule.Lenient
	return r
}

// generateOnly is a rule about generate requests; a count of tokens is not held to
// it.
func generateOnly(broken func(*request, rule.Env) *rule.Refusal) func(*request, rule.Env) *rule.Refusal {
	return func(q *request, env rule.Env) *rule.Refusal {
		if q.method == count {
			return nil
		}
		return broken(q, env)
	}
}

// invalid is a refusal with status 400.
func invalid(format string, args ...any) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusBadRequest, Type: "INVALID_ARGUMENT", Message: fmt.Sprintf(format, args...)}
}

// maxFaults is how many places one refusal names: a request may have as many faults as bytes.
const maxFaults = 100

// invalidList is a refusal that names the places at fault, nil when there is none.
func invalidList(faults []string) *rule.Refusal {
	text := ""
	for _, f := range faults[:min(maxFaults, len(faults))] {
		text += "* GenerateContentRequest." + f + "\n"
	}
	if text == "" {
		return nil
	}
	return invalid("%s", text)
}
