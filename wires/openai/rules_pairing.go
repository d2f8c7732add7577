package openai

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
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

// clientCalls are the types of the calls that a client answers. The API speaks of them with
// blanks.
var clientCalls = []string{"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"}

// waitsForClient reports whether the item needs an output of the client: shells in containers
// and searches among tools that it was given are run by the provider, and a call that is
// async may stay open.
func (i *item) waitsForClient() bool {
	switch i.typ {
	case "shell_call":
		where := i.Get("environment").Get("type").Text()
		return where == "" || where == "local"
	case "tool_search_call":
		return i.Get("execution").Text() == "client"
	}
	return slices.Contains(clientCalls, i.typ) && !i.Get("async").True()
}

func callsAnswered(q *request, _ rule.Env) *rule.Refusal {
	last := map[string]int{} // by call id: a search may be answered as a function is
	for i := range q.items {
		if it := &q.items[i]; strings.HasSuffix(it.typ, "_output") {
			last[it.callID] = i
		}
	}
	for i := range q.items {
		it := &q.items[i]
		if at, done := last[it.callID]; it.waitsForClient() && (!done || at < i) {
			return invalid("", "input", "No tool output found for %s %s.", strings.ReplaceAll(it.typ, "_", " "), it.callID)
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
		if isOutput && slices.Contains(clientCalls, typ) && !open[call{typ, it.callID}] && !q.continuesStored(env.Key) {
			return invalid("", "input", "No tool call found for %s output with call_id %s.", strings.ReplaceAll(typ, "_", " "), it.callID)
		}
	}
	return nil
}

// call is what an output belongs to.
type call struct{ typ, id string }

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
