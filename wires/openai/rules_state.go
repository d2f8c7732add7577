package openai

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var stateRules = []rule.Rule[*request]{
	basicRule(liveRule("O-3", "a prompt that stands for the model is one that is stored; here none is, the words are inferred", inferred, rule.Low, promptExists)),
	strictRule(liveRule("O-17", "reasoning is sent back without its raw text", reported, rule.Medium, noRawReasoning)),
	judged("PAR-012/exclusive", liveRule("O-26", "previous_response_id and conversation are not given together", documented, rule.High, nil), oneChain),
	liveRule("O-25", "previous_response_id is the id of a response that was stored", recorded, rule.High, previousExists),
	liveRule("O-14", "an id that must be looked up is that of an item that was stored", reported, rule.High, itemsExist),
}

// promptExists refuses what only a stored prompt could complete. Beside a model a
// prompt is passed over: there is enough to answer. Where tokens of others are
// taken, so are prompts that others have stored.
func promptExists(q *request, env rule.Env) *rule.Refusal {
	if q.body.Has("model") || !q.body.Has("prompt") || env.ForeignTokens {
		return nil
	}
	refusal := invalid("", "prompt", "Prompt with id '%s' not found.", q.body.Text("prompt", "id"))
	refusal.Status = http.StatusNotFound
	return refusal
}

// noRawReasoning is about every model served: none shows its raw reasoning. The
// one recording that passes with some (OAI-L1 has the same code) is of another
// maker's server.
func noRawReasoning(q *request, _ rule.Env) *rule.Refusal {
	for i := range q.items {
		if it := &q.items[i]; it.typ == "reasoning" && len(it.List("content")) > 0 {
			var paths tree.Paths
			at := paths.Member(paths.Element(paths.Member(nil, "input"), i), "content")
			return arrayTooLong(at, 0, len(it.List("content")))
		}
	}
	return nil
}

func oneChain(q *request, p *rule.Pass) {
	if p.Observe(); q.body.Has("previous_response_id") && q.body.Has("conversation") {
		p.Report("previous_response_id", "previous_response_id and conversation are both set").
			Refuse(invalid("mutually_exclusive_parameters", "previous_response_id",
				"Mutually exclusive parameters: 'previous_response_id'. Ensure you are only providing one of: 'previous_response_id' or 'conversation'."))
	}
}

// inputGiven reports what the schema refuses.
func inputGiven(q *request, p *rule.Pass) {
	if !q.body.Has("input") && !q.body.Has("prompt") && !q.body.Has("previous_response_id") && !q.body.Has("conversation") {
		p.Report("input", "the request has no input and names none that is stored")
	}
}

// modelGiven reports what the schema refuses. A stored prompt may name the model.
func modelGiven(q *request, p *rule.Pass) {
	if !q.body.Has("model") && !q.body.Has("prompt") {
		p.Report("model", "model is required and absent")
	}
}

func previousExists(q *request, env rule.Env) *rule.Refusal {
	id := q.body.Text("previous_response_id")
	if id == "" {
		return nil
	}
	if q.account == accountZDR {
		return invalid("unsupported_parameter", "previous_response_id",
			"Previous response cannot be used for this organization due to Zero Data Retention.")
	}
	p, issued := openID(env.Key, id, q.account)
	if issued && p.stored && p.prefix == prefixResponse || !issued && env.ForeignTokens && foreignResponse(id) {
		return nil
	}
	return invalid("previous_response_not_found", "previous_response_id", "Previous response with id '%s' not found.", id)
}

// foreignResponse reports whether id may be that of a response of somebody
// else: a prefix and hexadecimal digits.
func foreignResponse(id string) bool {
	digits, ok := strings.CutPrefix(id, prefixResponse)
	return ok && len(digits) >= 32 && strings.Trim(digits, script.Hex) == ""
}

// itemsExist looks at references, and at reasoning and images that bring nothing along but
// their id.
func itemsExist(q *request, env rule.Env) *rule.Refusal {
	for i := range q.items {
		it := &q.items[i]
		bare := it.typ == "item_reference" || it.typ == "reasoning" && !it.Has("encrypted_content") ||
			it.typ == "image_generation_call" && !it.Has("result")
		if !bare || it.id == "" {
			continue
		}
		if it.issued && it.place.stored || !it.issued && env.ForeignTokens {
			continue
		}
		refusal := invalid("", "input", "Item with id '%s' not found.", it.id)
		switch {
		case q.account == accountZDR:
			refusal.Message += " Items are not persisted for Zero Data Retention organizations. Remove this item from your input and try again."
		case !q.store:
			refusal.Message += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
		}
		refusal.Status = http.StatusNotFound
		return refusal
	}
	return nil
}
