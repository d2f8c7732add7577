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

// Check returns the first rule that a generate or count request breaks, nil when it is accepted.
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

// The ways to state a rule, see package rule.
var (
	judged, everywhere, atPublicAPI, strictRule = rule.Judged[*request], rule.Everywhere[*request], rule.AtPublicAPI[*request], rule.FromStrict[*request]
	basicRule, liveRule                         = rule.Basic[*request], rule.FromLive[*request]
)

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
