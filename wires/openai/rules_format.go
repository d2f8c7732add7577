package openai

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// formatRules are about the form of the answer.
var formatRules = []rule.Rule[*request]{
	liveRule("O-33", "json_object is asked for in an input that has the word JSON; instructions do not count", reported, rule.High, jsonMentioned),
}

// jsonMentioned has the words that https://github.com/pydantic/pydantic-ai quotes in
// models/openai.py, with the param of an error in the tests of
// https://github.com/reVrost/go-openrouter. The word may stand in what the request goes
// on from.
func jsonMentioned(q *request, env rule.Env) *rule.Refusal {
	if q.body.Get("text").Get("format").Get("type").Text() != "json_object" || mentionsJSON(q.body.Get("input")) || q.continuesStored(env.Key) {
		return nil
	}
	return invalid("", "input", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
}

// mentionsJSON reports whether any string of the input contains the word. Items other than
// messages count, too, because no report says otherwise.
func mentionsJSON(n *tree.Node) bool {
	return strings.Contains(strings.ToLower(n.Text()), "json") ||
		slices.ContainsFunc(n.Items(), mentionsJSON)
}
