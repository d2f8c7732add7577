package openai

import (
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var pairRules = []rule.Rule[*request]{
	// xAI issues one id twice and takes it back.
	judged("ORD-005/unique-items", sureRule("O-9", "no two items have the same id", reported), uniqueIDs),
	liveRule("O-12", "a stored reasoning item is followed by the item it led to", recorded, rule.High,
		reasoningFollowed),
	liveRule("O-13", "a stored item is directly behind the reasoning that led to it", reported, rule.High,
		reasoningPrecedes),
	everywhere(judged("ORD-001/answered", sureRule("O-10", "a call has its output", reported), callsAnswered)),
	everywhere(judged("ORD-003/no-orphan", sureRule("O-11", "an output has its call, which stands before it", reported),
		outputsCalled)),
	everywhere(judged("ORD-002/single-result",
		strictRule(liveRule("OAI-P6", "a call has one output", reported, rule.Low, nil)), answeredOnce)),
	strictRule(liveRule("O-12", "reasoning is followed by an item of the model, before anybody else says something",
		inferred, rule.Low, notAlone)),
}

func uniqueIDs(q *request, p *rule.Pass) {
	first := map[string]*item{}
	for i := range q.items {
		it := &q.items[i]
		if it.id == "" {
			continue
		}
		p.Observe()
		if was := first[it.id]; was != nil {
			p.Report(it.path(), "item id %s is already used at %s", it.id, was.path()).
				Refuse(invalid("", "input",
					"Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.id))
		} else {
			first[it.id] = it
		}
	}
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
var typesOf = map[string]string{prefixMessage: "message", prefixCall: "function_call", prefixSearch: "web_search_call",
	prefixCode: "code_interpreter_call", prefixCustom: "custom_tool_call", prefixFind: "tool_search_call"}

func reasoningPrecedes(q *request, env rule.Env) *rule.Refusal {
	for i := range q.items {
		p, ok := q.storedPlace(i)
		if !ok || p.run == 0 || p.prefix == prefixReasoning {
			continue
		}
		if before, ok := q.storedPlace(i - 1); !ok || !p.follows(before) {
			return invalid("", "input",
				"Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.",
				q.items[i].id, typesOf[p.prefix], p.idBefore(env.Key))
		}
	}
	return nil
}

// clientCalls are the types of the calls that a client answers. The API speaks of them with
// blanks.
var clientCalls = []string{"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call",
	"apply_patch_call", "tool_search_call"}

// WaitsForClient reports whether an item of a type needs an output of the client: shells in
// containers and searches among tools that it was given are run by the provider, and a call
// that is async may stay open.
func WaitsForClient(typ string, item *tree.Node) bool {
	switch typ {
	case "shell_call":
		where := item.Text("environment", "type")
		return where == "" || where == "local"
	case "tool_search_call":
		return item.Text("execution") == "client"
	}
	return slices.Contains(clientCalls, typ) && !item.True("async")
}

func callsAnswered(q *request, p *rule.Pass) {
	last := map[string]int{} // by call id: a search may be answered as a function is
	for i := range q.items {
		if it := &q.items[i]; strings.HasSuffix(it.typ, "_output") {
			last[it.callID] = i
		}
	}
	for i := range q.items {
		it := &q.items[i]
		if !WaitsForClient(it.typ, it.Node) {
			continue
		}
		p.Observe()
		if at, done := last[it.callID]; !done || at < i {
			p.Report(it.path(), "%s has no output after it", it.label()).
				Refuse(invalid("", "input", "No tool output found for %s %s.", strings.ReplaceAll(it.typ, "_", " "),
					it.callID))
		}
	}
}

// outputsCalled reports an output without any call, where all that stands before it is
// known; the provider asks for a call of its type.
func outputsCalled(q *request, p *rule.Pass) {
	open, calls := map[call]bool{}, maps.Clone(q.kept)
	isKnown := q.kept != nil && !slices.ContainsFunc(q.items, func(i item) bool { return i.typ == "item_reference" })
	for i := range q.items {
		it := &q.items[i]
		open[call{it.typ, it.callID}] = true
		if it.typ == "tool_search_call" {
			open[call{"function_call", it.callID}] = true // clients may answer it so: recorded
		}
		typ, isOutput := strings.CutSuffix(it.typ, "_output")
		isOutput = isOutput && slices.Contains(clientCalls, typ)
		var refusal *rule.Refusal
		if isOutput && !open[call{typ, it.callID}] && !q.continuesStored(p.Key) {
			refusal = invalid("", "input", "No tool call found for %s output with call_id %s.",
				strings.ReplaceAll(typ, "_", " "), it.callID)
		}
		isSearch := it.typ == "tool_search_output" && !it.isModels() && it.callID != ""
		switch {
		case !isKnown:
			p.Refuse(refusal)
		case !isOutput && !isSearch:
			calls[it.callID] = it.isCall() || it.callID != ""
		default:
			if p.Observe(); !calls[it.callID] {
				p.Report(it.path(), "output %s answers no call before it", it.callID).Refuse(refusal)
			} else {
				p.Refuse(refusal)
			}
		}
	}
}

// call is what an output belongs to.
type call struct{ typ, id string }

// answeredOnce counts outputs against calls; the provider looks at functions alone.
func answeredOnce(q *request, p *rule.Pass) {
	calls, results, functions := map[string]int{}, map[string]int{}, map[string]bool{}
	for i := range q.items {
		it := &q.items[i]
		if it.isCall() {
			calls[it.callID]++
		}
		if !it.isResult() || it.callID == "" {
			continue
		}
		p.Observe()
		if results[it.callID]++; calls[it.callID] > 0 && results[it.callID] > calls[it.callID] {
			p.Report(it.path(), "tool call %s is answered again", it.callID)
		}
		if it.typ == "function_call_output" {
			if functions[it.callID] {
				p.Refuse(invalid("", "input",
					"Duplicate function_call_output for call_id '%s'. Each function_call must have exactly one matching function_call_output.", it.callID))
			}
			functions[it.callID] = true
		}
	}
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
