package openai

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/rule"
)

var pairRules = []rule.Rule[*request]{
	liveRule("O-9", "no two items have the same id", reported, rule.High, uniqueIDs),
	liveRule("O-12", "a stored reasoning item is followed by the item it led to", recorded, rule.High, reasoningFollowed),
	liveRule("O-13", "a stored item is directly behind the reasoning that led to it", reported, rule.High, reasoningPrecedes),
	liveRule("O-10", "a call has its output", reported, rule.High, callsAnswered),
	liveRule("O-11", "an output has its call, which stands before it", reported, rule.High, outputsCalled),
	strictRule(liveRule("OAI-P6", "a call has one output", reported, rule.Low, answeredOnce)),
	strictRule(liveRule("O-12", "reasoning is followed by an item of the model, before anybody else says something", inferred, rule.Low, notAlone)),
}

func uniqueIDs(q *request, _ rule.Env) *rule.Refusal {
	seen := map[string]bool{}
	for i := range q.items {
		id := q.items[i].id
		if id != "" && seen[id] {
			return invalid("", "input", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
		}
		seen[id] = true
	}
	return nil
}

// storedPlace is where an item stood that the provider keeps: its neighbours are
// known (pairing matrix, reference §5.2). With store false, or without an id,
// nothing is looked up.
func (q *request) storedPlace(at int) (place, bool) {
	if !q.store || at < 0 || at >= len(q.items) {
		return place{}, false
	}
	it := &q.items[at]
	return it.place, it.issued && it.place.stored
}

func reasoningFollowed(q *request, _ rule.Env) *rule.Refusal {
	for i := range q.items {
		p, ok := q.storedPlace(i)
		if !ok || p.prefix != prefixReasoning || p.next == "" {
			continue
		}
		if next, ok := q.storedPlace(i + 1); !ok || !next.follows(p) {
			return reasoningAlone(q.items[i].id)
		}
	}
	return nil
}

func reasoningAlone(id string) *rule.Refusal {
	return invalid("", "input", "Item '%s' of type 'reasoning' was provided without its required following item.", id)
}

// typesOf are the types of the items that a reference may stand for.
var typesOf = map[string]string{prefixMessage: "message", prefixCall: "function_call", prefixSearch: "web_search_call", prefixCode: "code_interpreter_call", prefixCustom: "custom_tool_call", prefixFind: "tool_search_call"}

func reasoningPrecedes(q *request, env rule.Env) *rule.Refusal {
	for i := range q.items {
		p, ok := q.storedPlace(i)
		if !ok || p.run == 0 || p.prefix == prefixReasoning {
			continue
		}
		if before, ok := q.storedPlace(i - 1); !ok || !p.follows(before) {
			return invalid("", "input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.",
				q.items[i].id, typesOf[p.prefix], p.idBefore(env.Key))
		}
	}
	return nil
}

// outputs are the types of calls that a client runs, and how the API speaks of
// them.
var outputs = map[string]string{"function_call": "function call", "custom_tool_call": "custom tool call"}

// call is what an output belongs to.
type call struct{ typ, id string }

func callsAnswered(q *request, _ rule.Env) *rule.Refusal {
	last := map[call]int{}
	for i := range q.items {
		if it := &q.items[i]; strings.HasSuffix(it.typ, "_output") {
			last[call{strings.TrimSuffix(it.typ, "_output"), it.callID}] = i
		}
	}
	for i := range q.items {
		it := &q.items[i]
		name, ok := outputs[it.typ]
		if at, done := last[call{it.typ, it.callID}]; ok && (!done || at < i) && !it.Get("async").True() {
			return invalid("", "input", "No tool output found for %s %s.", name, it.callID)
		}
	}
	return nil
}

func outputsCalled(q *request, env rule.Env) *rule.Refusal {
	open := map[call]bool{}
	for i := range q.items {
		it := &q.items[i]
		open[call{it.typ, it.callID}] = true
		if it.typ == "tool_search_call" {
			open[call{"function_call", it.callID}] = true // clients may answer it so: recorded
		}
		typ, isOutput := strings.CutSuffix(it.typ, "_output")
		if name, ok := outputs[typ]; isOutput && ok && !open[call{typ, it.callID}] && !q.continuesStored(env.Key) {
			return invalid("", "input", "No tool call found for %s output with call_id %s.", name, it.callID)
		}
	}
	return nil
}

func answeredOnce(q *request, _ rule.Env) *rule.Refusal {
	seen := map[call]bool{}
	for i := range q.items {
		it := &q.items[i]
		if it.typ != "function_call_output" {
			continue
		}
		if c := (call{it.typ, it.callID}); seen[c] {
			return invalid("", "input", "Duplicate function_call_output for call_id '%s'. Each function_call must have exactly one matching function_call_output.", it.callID)
		}
		seen[call{it.typ, it.callID}] = true
	}
	return nil
}

// notAlone lets the reasoning pass that its reply ended with.
func notAlone(q *request, env rule.Env) *rule.Refusal {
	for i := range q.items {
		if q.items[i].typ != "reasoning" || q.followedByModel(i) {
			continue
		}
		if p, ok := q.items[i].originPlace(env.Key); ok && p.next == "" {
			continue
		}
		return reasoningAlone(q.items[i].id)
	}
	return nil
}

// followedByModel reports whether the reasoning at i leads to something.
func (q *request) followedByModel(i int) bool {
	for i++; i < len(q.items); i++ {
		if it := &q.items[i]; it.typ != "reasoning" {
			return it.isModels() || it.typ == "item_reference" || strings.HasPrefix(it.typ, "mcp_")
		}
	}
	return false
}
