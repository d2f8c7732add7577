package gemini

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// transcodingRules are what the front end demands before the model is asked.
// Each names all paths at fault, in BadRequest details too.
var transcodingRules = []rule.Rule[*request]{
	basicRule(liveRule("G-3", "the body is one JSON object", "reported", rule.High, notJSON)),
	everywhere(judged("ORD-015/arguments", liveRule("G-3", "no unknown field, and every value of its field's type; both spellings of a name count, so do enums in lower case, and one value for a list; live notes a name that no message has, for it may be new", "reported", rule.High, transcodesTo("G-3")), structIn("functionCall", "args"))),
	everywhere(judged("ORD-015/parts", liveRule("G-8", "a part holds one thing", "reported", rule.High, transcodesTo("G-8")), partsSingle)),
	everywhere(judged("ORD-015/arguments", liveRule("G-9", "functionResponse.response is an object", "reported", rule.High, transcodesTo("G-9")), structIn("functionResponse", "response"))),
	everywhere(judged("SIG-015/base64", liveRule("G-19", "thoughtSignature is base64, of either alphabet", "reported", rule.High, transcodesTo("G-19")), signaturesDecoded)),
}

func notJSON(q *request, _ rule.Env) *rule.Refusal {
	if q.syntax == "" {
		return nil
	}
	return badRequest([]violation{{text: q.syntax}})
}

// structIn reports a member that is not the object that the transcoder wants.
func structIn(data, name string) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) {
		for part := range q.partsWith(data) {
			if p.Observe(); part.value.Has(name) && !part.value.Get(name).Is(tree.Object) {
				p.Report(part.place(), "%s of %s is not an object", name, part.label())
			}
		}
	}
}

// partsSingle reports what the transcoder refuses.
func partsSingle(q *request, p *rule.Pass) {
	for _, c := range q.contents {
		for _, part := range c.parts {
			p.Observe()
			held := slices.DeleteFunc(slices.Clone(part.Names()), func(name string) bool { return dataNames[name] == "" || name == script.FuturePart })
			if len(held) > 1 {
				p.Report(part.place(), "one part holds %s", strings.Join(held, " and "))
			}
		}
	}
}

// transcodesTo returns what breaks when the transcoder found violations of a rule.
func transcodesTo(id string) func(*request, rule.Env) *rule.Refusal {
	return func(q *request, env rule.Env) *rule.Refusal {
		var found []violation
		for _, v := range q.violations {
			if v.rule == id || id == "G-3" && v.rule == unknownField && env.Level == rule.Strict {
				found = append(found, v)
			}
		}
		if found == nil {
			return nil
		}
		return badRequest(found)
	}
}

// badRequest puts violations into the message, a line each, and into details.
func badRequest(found []violation) *rule.Refusal {
	found = found[:min(maxFaults, len(found))]
	lines, fields := make([]string, len(found)), script.Array{}
	for i, v := range found {
		lines[i] = v.text
		one := script.Object{"description", v.text}
		if v.field != "" {
			one = append(script.Object{"field", v.field}, one...)
		}
		fields = append(fields, one)
	}
	refusal := invalid("%s", strings.Join(lines, "\n"))
	refusal.Details = script.JSON(script.Array{script.Object{
		"@type", "type.googleapis.com/google.rpc.BadRequest", "fieldViolations", fields,
	}})
	return refusal
}
