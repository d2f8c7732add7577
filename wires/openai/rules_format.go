package openai

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// formatRules are about the form of the answer.
var formatRules = []rule.Rule[*request]{
	judged("PAR-007/range", liveRule("O-33", "json_object is asked for in an input that has the word JSON; instructions do not count", reported, rule.High, nil), jsonMentioned),
}

// jsonMentioned has the words that https://github.com/pydantic/pydantic-ai quotes in
// models/openai.py, with the param of an error in the tests of
// https://github.com/reVrost/go-openrouter. The word may stand in what the request goes
// on from.
func jsonMentioned(q *request, p *rule.Pass) {
	if q.body.Get("text", "format").Text("type") != "json_object" || mentionsJSON(q.body.Get("input")) || q.continuesStored(p.Key) {
		return
	}
	refusal := invalid("", "input", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
	if !q.isOwnModel || q.body.Get("input") == nil {
		p.Refuse(refusal)
		return
	}
	p.Report("text.format.type", "text.format is json_object, and the word JSON is not in the input").Refuse(refusal)
}

// mentionsJSON reports whether any string of the input contains the word. Items other than
// messages count, too, because no report says otherwise.
func mentionsJSON(n *tree.Node) bool {
	return strings.Contains(strings.ToLower(n.Text()), "json") ||
		slices.ContainsFunc(n.Items(), mentionsJSON)
}
