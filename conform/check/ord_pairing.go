package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/wire"
)

// pairingRules judge calls and their results inside each single request.
var pairingRules = map[string]rule{
	"ORD-001/answered":      openAIAnswered,
	"ORD-002/single-result": singleResult,
	"ORD-003/no-orphan":     noOrphan,
	"ORD-005/unique-calls":  uniqueCalls,
	"ORD-005/unique-items":  uniqueItems,
	"ORD-012/result-order":  resultOrder,
	"ORD-012/one-message":   resultsTogether,
}

func answersCall(res, call *wire.Item) bool {
	if res.ID != "" && call.ID != "" {
		return res.ID == call.ID
	}
	return res.Name == call.Name && res.Name != ""
}

func nameOf(it *wire.Item) string {
	if it.ID == "" {
		return it.Name
	}
	return strings.TrimSpace(it.Name + " " + it.ID)
}

// answeredByClient are the items of OpenAI's models that wait for an output of the client.
var answeredByClient = []string{"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"}

// waitsForClient reports whether an item of OpenAI's model needs an output of the client. The
// provider itself runs shells in its containers and searches the tools that it was given, and
// it goes on without the output of a call that is async.
func waitsForClient(it *wire.Item) bool {
	n := it.Begun()
	switch it.Type {
	case "shell_call":
		where := n.Get("environment").Get("type").Text()
		return where == "" || where == "local"
	case "tool_search_call":
		return n.Get("execution").Text() == "client"
	}
	return slices.Contains(answeredByClient, it.Type) && !n.Get("async").True()
}

// isOutput reports whether an item of OpenAI's answers a call.
func isOutput(it *wire.Item) bool {
	return it.What == wire.Result || strings.HasSuffix(it.Type, "_output") && it.ID != ""
}

// keptTurns lists the recorded exchanges whose requests and replies the provider puts before
// the input of x, the latest first. isWhole is false where more than these may stand there.
func (s *Trace) keptTurns(x *exchange) (kept []*exchange, isWhole bool) {
	for now := x; now.req.Stateful; {
		from := now.base
		if id := storedConversation(now); id != "" && now.previous != nil && storedConversation(now.previous) == id {
			from = now.previous
		}
		switch {
		case from == nil || !from.asksForAnswer() && !from.isWarmUp() || !from.reply.Usable() || len(kept) == maxSources:
			return kept, false
		case from.req.Doc.Get("store").False() && (x.WebSocket == 0 || x.WebSocket != from.WebSocket):
			return kept, false // the provider does not know it
		case slices.ContainsFunc(from.req.Items, isOpaqueHistory) || slices.ContainsFunc(from.reply.Items, isOpaqueHistory):
			return kept, false
		case slices.ContainsFunc(s.x[from.n:now.n], func(o *exchange) bool { return strings.Contains(o.Request.URL, "/conversations/") }):
			return kept, false // items may have been added or deleted
		}
		kept, now = append(kept, from), from
	}
	return kept, true
}

// isOpaqueHistory reports whether an item stands for others that it does not show.
func isOpaqueHistory(it wire.Item) bool { return it.Type == referenceType || isCompaction(&it) }

// openAIAnswered: a result may stand anywhere after its call, which the request holds or the
// provider keeps (O-10).
func openAIAnswered(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) { callsAnswered(s, x, r) })
}

func callsAnswered(s *Trace, x *exchange, r *report) {
	if x.Provider != evidence.OpenAI {
		return
	}
	describe := func(it *wire.Item) string {
		if it.What == wire.Call {
			return "tool call " + nameOf(it)
		}
		return it.Type + " " + it.ID
	}
	later := map[string]int{}
	for i := range x.req.Items {
		if it := &x.req.Items[i]; isOutput(it) {
			later[it.ID] = i + 1
		}
	}
	for i := range x.req.Items {
		it := &x.req.Items[i]
		if !waitsForClient(it) {
			continue
		}
		r.addObserved(1)
		if later[it.ID] <= i {
			r.addFinding(x, it.Place, "O-10", "%s has no output after it", describe(it))
		}
	}
	if x.isWarmUp() || slices.ContainsFunc(x.req.Items, isOpaqueHistory) {
		return // the output may be among what is named
	}
	_, at := x.member("previous_response_id")
	if storedConversation(x) != "" {
		_, at = x.member("conversation")
	}
	kept, _ := s.keptTurns(x)
	for _, from := range kept {
		for i := range from.reply.Items {
			if it := &from.reply.Items[i]; isOutput(it) {
				later[it.ID] = 1
			}
		}
		for i := range from.reply.Items {
			it := &from.reply.Items[i]
			if !waitsForClient(it) {
				continue
			}
			r.addObserved(1)
			if later[it.ID] == 0 {
				r.addFinding(x, at, "O-10", "%s is open in the conversation that the provider keeps, and the request has no output for it (%s)",
					describe(it), emittedAt(from, it.Place)).Emitted = emissionAt(from, it.Place)
			}
		}
		for i := range from.req.Items {
			if it := &from.req.Items[i]; isOutput(it) {
				later[it.ID] = 1
			}
		}
	}
}

// singleResult: one result per call. A call id used twice is another matter
// (ORD-005), so results are counted against calls.
func singleResult(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		calls, results := map[string]int{}, map[string]int{}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			switch {
			case it.ID == "", x.Provider != evidence.OpenAI:
			case it.What == wire.Call:
				calls[it.ID]++
			case it.What == wire.Result:
				r.addObserved(1)
				results[it.ID]++
				if n := calls[it.ID]; n > 0 && results[it.ID] > n {
					r.addFinding(x, it.Place, "OAI-P6", "tool call %s is answered again", it.ID)
				}
			}
		}
	})
}

func byProvider(x *exchange, anthropic, openAI, gemini string) string {
	switch x.Provider {
	case evidence.Anthropic:
		return anthropic
	case evidence.OpenAI:
		return openAI
	}
	return gemini
}

// noOrphan: a result answers a call the provider can see.
func noOrphan(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if x.Provider == evidence.OpenAI {
			openAIOrphans(s, x, r)
		}
	})
}

// openAIOrphans: only where all is recorded that stands before the output, in the request and
// in what the provider keeps, a call for it cannot be missed (O-11).
func openAIOrphans(s *Trace, x *exchange, r *report) {
	kept, isWhole := s.keptTurns(x)
	if !isWhole || slices.ContainsFunc(x.req.Items, func(it wire.Item) bool { return it.Type == referenceType }) {
		return
	}
	calls := map[string]bool{}
	for _, from := range kept {
		for _, items := range [][]wire.Item{from.req.Items, from.reply.Items} {
			for i := range items {
				calls[items[i].ID] = calls[items[i].ID] || !isOutput(&items[i])
			}
		}
	}
	for i := range x.req.Items {
		it := &x.req.Items[i]
		switch {
		case isOutput(it) && !it.Model():
			r.addObserved(1)
			if !calls[it.ID] {
				r.addFinding(x, it.Place, "O-11", "output %s answers no call before it", it.ID)
			}
		case it.What == wire.Call || it.Model() && it.ID != "": // a search for tools is answered as well
			calls[it.ID] = true
		}
	}
}

// resultOrder: results of parallel calls stand in the order of the calls.
func resultOrder(s *Trace, r *report) {
	s.eachStep(func(x *exchange, st step) {
		calls, results := x.itemsOfKind(st.run, wire.Call), x.itemsOfKind(st.answer, wire.Result)
		if len(calls) < 2 || len(results) < 2 {
			return
		}
		r.addObserved(len(results))
		last := -1
		for _, res := range results {
			k := slices.IndexFunc(calls[max(last, 0):], func(c *wire.Item) bool { return answersCall(res, c) })
			if k >= 0 {
				last = max(last, 0) + k
				continue
			}
			if call := callOf(calls, res); call != res {
				r.addFinding(x, res.Place, "", "result of %s stands after the result of a later call", nameOf(call))
				return
			}
		}
	})
}

// callOf returns the call that a result answers, else the result itself.
func callOf(calls []*wire.Item, res *wire.Item) *wire.Item {
	if k := slices.IndexFunc(calls, func(c *wire.Item) bool { return answersCall(res, c) }); k >= 0 {
		return calls[k]
	}
	return res
}

// resultsTogether: the results of parallel calls stand in one message of Anthropic's. Spread
// over several they are accepted, and the model stops making calls in parallel.
func resultsTogether(s *Trace, r *report) {
	s.eachStep(func(x *exchange, st step) {
		calls := x.itemsOfKind(st.run, wire.Call)
		if x.Provider != evidence.Anthropic || len(calls) < 2 {
			return
		}
		for i := st.answer.from + 1; i < st.answer.to; i++ {
			before, it := &x.req.Items[i-1], &x.req.Items[i]
			if before.What != wire.Result || it.What != wire.Result {
				continue
			}
			r.addObserved(1)
			if before.Msg != it.Msg {
				r.addFinding(x, it.Place, "", "result of %s stands in another message than that of %s, a call of the same turn",
					nameOf(callOf(calls, it)), nameOf(callOf(calls, before)))
				return
			}
		}
	})
}
