package mutant

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// pairingMutants disturb calls and results.
var pairingMutants = []Mutant{
	{"drop-result", "leaves a tool call unanswered", []string{"ORD-001"}, request(dropResult)},
	{"duplicate-result", "answers a tool call twice", []string{"ORD-002"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return e.answersID(it) && e.insert(it, 1, copyOf(it.Node))
		})
	})},
	{"orphan-result", "answers a call nobody made", []string{"ORD-001", "ORD-003"}, request(orphanResult)},
	{"text-before-results", "puts a text before a tool result", []string{"ORD-004"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return e.answersID(it) && e.insert(it, 0, parse(`{"type":"text","text":"By the way."}`))
		})
	}, evidence.Anthropic)},
	{"reuse-call-id", "gives two calls one id", []string{"ORD-005"}, request(reuseCallID)},
	{"reuse-item-id", "gives two items one id", []string{"ORD-005"}, request(reuseItemID, evidence.OpenAI)},
	{"split-results", "puts each function response into a content of its own", []string{"ORD-006"}, request(splitResults, evidence.Gemini)},
	{"rename-response", "names a function response after the call id", []string{"ORD-006"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return it.What == wire.Result && set(part(it), "name", str("call_0"))
		})
	}, evidence.Gemini)},
	{"drop-opening", "cuts off what stands before the first function call", []string{"ORD-007"}, request(dropOpening, evidence.Gemini)},
	{"reorder-results", "answers parallel calls in another order", []string{"ORD-012"}, request(reorderResults)},
}

// answersID reports whether the item answers a call of the request by its id.
func (e *editor) answersID(it *wire.Item) bool {
	return it.What == wire.Result && it.ID != "" && e.find(func(_ int, c *wire.Item) bool {
		return c.What == wire.Call && c.ID == it.ID
	}) >= 0
}

func dropResult(e *editor) bool {
	return e.each(func(_ int, it *wire.Item) bool { return e.answersID(it) && e.remove(it) })
}

func orphanResult(e *editor) bool {
	field := map[string]string{evidence.Anthropic: "tool_use_id", evidence.OpenAI: "call_id", evidence.Gemini: "id"}[e.x.Provider]
	if e.req.Stateful {
		return false
	}
	return e.each(func(_ int, it *wire.Item) bool { return e.answersID(it) && set(part(it), field, str("call_nobody")) })
}

func reuseCallID(e *editor) bool {
	first := e.find(func(_ int, it *wire.Item) bool { return it.What == wire.Call && it.ID != "" })
	if first < 0 {
		return false
	}
	id := e.req.Items[first].ID
	return e.each(func(_ int, it *wire.Item) bool {
		field := "id"
		if e.x.Provider == evidence.OpenAI {
			field = "call_id"
		}
		return it.What == wire.Call && it.ID != "" && it.ID != id && set(part(it), field, str(id))
	})
}

func reuseItemID(e *editor) bool {
	first := e.find(func(_ int, it *wire.Item) bool { return it.Type == "function_call" && it.ItemID != "" })
	return first >= 0 && e.each(func(_ int, it *wire.Item) bool {
		return it.Type == "function_call" && it.ItemID != "" && it.ItemID != e.req.Items[first].ItemID &&
			set(it.Node, "id", str(e.req.Items[first].ItemID))
	})
}

func splitResults(e *editor) bool {
	return e.each(func(i int, it *wire.Item) bool {
		if it.What != wire.Result || i == 0 || e.req.Items[i-1].What != wire.Result || e.req.Items[i-1].Msg != it.Msg {
			return false
		}
		all, k := e.msgs(), slices.Index(e.msgs().Items, e.req.Msgs[it.Msg].Node)
		if k < 0 || !e.remove(it) {
			return false
		}
		all.Items = slices.Insert(all.Items, k+1, parse(`{"role":"user","parts":[`+string(wire.Encode(it.Node))+`]}`))
		return true
	})
}

func dropOpening(e *editor) bool {
	call := e.find(func(_ int, it *wire.Item) bool { return it.What == wire.Call })
	if call < 0 || e.req.Items[call].Msg == 0 {
		return false
	}
	e.msgs().Items = e.msgs().Items[e.req.Items[call].Msg:]
	return true
}

func reorderResults(e *editor) bool {
	return e.each(func(i int, it *wire.Item) bool {
		if it.What != wire.Result || i == 0 {
			return false
		}
		before := &e.req.Items[i-1]
		return before.What == wire.Result && e.callOf(before) >= 0 && e.callOf(before) < e.callOf(it) && e.swap(before, it)
	})
}

// callOf returns the ordinal of the call an item answers: by id, or by a name
// that is used once.
func (e *editor) callOf(res *wire.Item) int {
	found := -1
	for i := range e.req.Items {
		it := &e.req.Items[i]
		if it.What != wire.Call {
			continue
		}
		switch {
		case res.ID != "" && it.ID == res.ID:
			return i
		case res.ID == "" && it.Name == res.Name && found >= 0:
			return -1
		case res.ID == "" && it.Name == res.Name:
			found = i
		}
	}
	return found
}
