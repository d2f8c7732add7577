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

// The ways to state a rule, see package rule.
var judged, everywhere, atPublicAPI, strictRule = rule.Judged[*call], rule.Everywhere[*call], rule.AtPublicAPI[*call], rule.FromStrict[*call]

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

// basicRule is a rule without which a reply cannot be made.
func basicRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := sureRule(id, source, demand, broken)
	r.Least = rule.Lenient
	return r
}

func invalid(format string, args ...any) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusBadRequest, Type: typeInvalid, Message: fmt.Sprintf(format, args...)}
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
