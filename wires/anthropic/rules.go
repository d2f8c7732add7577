package anthropic

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Check returns the first demand of the API that a request breaks, in the API's
// own order: key, headers, size, JSON, schema, model, parameters, messages,
// limits, seals (reference §5.1). nil is an accepted request. It serves messages
// and count_tokens, is pure and safe for concurrent use.
func Check(r *http.Request, body []byte, env rule.Env) *rule.Refusal {
	return Parse(r, body).Check(env)
}

// Rules states the rules in the order in which they are checked.
func Rules() []rule.Info { return rule.Infos(rules) }

// The statuses and types of refusals (reference §4).
const (
	typeInvalid  = "invalid_request_error"
	typeAuth     = "authentication_error"
	typeNotFound = "not_found_error"
	typeTooLarge = "request_too_large"
)

type anthropicRule = rule.Rule[*call]

// rules are all rules, in order.
var rules = slices.Concat(transportRules, shapeRules, modelRules, parameterRules, thinkingRules, toolRules,
	contentRules, pairingRules, turnRules, limitRules, tokenRules)

// sureRule is a rule that the live API is sure to enforce.
func sureRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	return anthropicRule{Info: rule.Info{ID: id, Demand: demand, Source: source, Confidence: rule.High, Least: rule.Live}, Broken: broken}
}

// likelyRule is a rule that is known from few reports, or contested.
func likelyRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := sureRule(id, source, demand, broken)
	r.Confidence = rule.Medium
	return r
}

// doubtfulRule is a rule that only strictness asks for.
func doubtfulRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := strictRule(sureRule(id, source, demand, broken))
	r.Confidence = rule.Low
	return r
}

// judged is r as a rule by which the referee judges an aspect of a requirement.
func judged(aspect string, r anthropicRule, run func(*call, *rule.Pass)) anthropicRule {
	r.Aspect, r.Run = aspect, run
	return r
}

// everywhere is r as a rule that the referee holds requests to any host to.
func everywhere(r anthropicRule) anthropicRule {
	r.Hosts = rule.AnyHost
	return r
}

// atPublicAPI is r as a rule that the referee holds requests to the public API to.
func atPublicAPI(r anthropicRule) anthropicRule {
	r.Hosts = rule.PublicAPI
	return r
}

// strictRule is a rule that only strictness asks for.
func strictRule(r anthropicRule) anthropicRule {
	r.Least = rule.Strict
	return r
}

// basicRule is a rule without which a reply cannot be made.
func basicRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := sureRule(id, source, demand, broken)
	r.Least = rule.Lenient
	return r
}

func invalid(format string, args ...any) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusBadRequest, Type: typeInvalid, Message: fmt.Sprintf(format, args...)}
}

// invalidIf refuses in these words if broken.
func invalidIf(broken bool, words string) *rule.Refusal {
	if broken {
		return invalid("%s", words)
	}
	return nil
}

// Reject returns the error envelope of a refusal. It says whether trying again
// is of any use, which clients believe before the status (reference §1.1, §4).
func (Provider) Reject(r *rule.Refusal) (status int, header http.Header, body []byte) {
	id := refusalID(r.Type, r.Message)
	header = maps.Clone(constant)
	header["Request-Id"], header["X-Should-Retry"] = []string{id}, []string{strconv.FormatBool(isTransient(r.Status))}
	if r.Status == http.StatusUnauthorized {
		header.Del("Anthropic-Organization-Id") // there is none
	}
	return r.Status, header, script.JSON(errorDocument(r.Type, r.Message, id))
}

// isTransient reports whether a status is of a state that passes.
func isTransient(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}
