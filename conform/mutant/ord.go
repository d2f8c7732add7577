package mutant

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// pairingMutants disturb calls and results.
var pairingMutants = []Mutant{
	{"drop-result", "leaves a tool call unanswered", []string{"ORD-001"}, changeRequest(dropResult)},
	{"duplicate-result", "answers a tool call twice", []string{"ORD-002"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return e.answersID(it) && e.insertNode(it, 1, copyOf(it.Node))
		})
	})},
	{"orphan-result", "answers a call that was never made", []string{"ORD-001", "ORD-003"}, changeRequest(orphanResult)},
	{"text-before-results", "puts a text before a tool result", []string{"ORD-004"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return e.answersID(it) && e.insertNode(it, 0, mustParse(`{"type":"text","text":"By the way."}`))
		})
	}, evidence.Anthropic)},
	{"reuse-call-id", "gives two calls one id", []string{"ORD-005"}, changeRequest(reuseCallID)},
	{"reuse-item-id", "gives two items one id", []string{"ORD-005"}, changeRequest(reuseItemID, evidence.OpenAI)},
	{"split-results", "puts each function response into a content of its own", []string{"ORD-006"}, changeRequest(splitResults, evidence.Gemini)},
	{"rename-response", "names a function response after the call id", []string{"ORD-006"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Result && setMember(ownFields(it), "name", jsonString("call_0"))
		})
	}, evidence.Gemini)},
	{"drop-opening", "cuts off what stands before the first function call", []string{"ORD-007"}, changeRequest(dropOpening, evidence.Gemini)},
	{"scatter-results", "answers parallel calls in messages of their own", []string{"ORD-012"}, changeRequest(splitResults, evidence.Anthropic)},
	{"reorder-results", "answers parallel calls in another order", []string{"ORD-012"}, changeRequest(reorderResults)},
}

// answersID reports whether the item answers a call of the request by its id.
func (e *editor) answersID(it *wire.Item) bool {
	return it.What == wire.Result && it.ID != "" && e.findItem(func(_ int, c *wire.Item) bool {
		return c.What == wire.Call && c.ID == it.ID
	}) >= 0
}

func dropResult(e *editor) bool {
	return e.eachItem(func(_ int, it *wire.Item) bool { return e.answersID(it) && e.removeItem(it) })
}

func orphanResult(e *editor) bool {
	field := map[string]string{evidence.Anthropic: "tool_use_id", evidence.OpenAI: "call_id", evidence.Gemini: "id"}[e.x.Provider]
	if e.req.Stateful {
		return false
	}
	return e.eachItem(func(_ int, it *wire.Item) bool {
		return e.answersID(it) && setMember(ownFields(it), field, jsonString("call_nobody"))
	})
}

func reuseCallID(e *editor) bool {
	first := e.findItem(func(_ int, it *wire.Item) bool { return it.What == wire.Call && it.ID != "" })
	if first < 0 {
		return false
	}
	id := e.req.Items[first].ID
	return e.eachItem(func(_ int, it *wire.Item) bool {
		field := "id"
		if e.x.Provider == evidence.OpenAI {
			field = "call_id"
		}
		return it.What == wire.Call && it.ID != "" && it.ID != id && setMember(ownFields(it), field, jsonString(id))
	})
}

func reuseItemID(e *editor) bool {
	first := e.findItem(func(_ int, it *wire.Item) bool { return it.Type == "function_call" && it.ItemID != "" })
	return first >= 0 && e.eachItem(func(_ int, it *wire.Item) bool {
		return it.Type == "function_call" && it.ItemID != "" && it.ItemID != e.req.Items[first].ItemID &&
			setMember(it.Node, "id", jsonString(e.req.Items[first].ItemID))
	})
}

func splitResults(e *editor) bool {
	return e.eachItem(func(i int, it *wire.Item) bool {
		if it.What != wire.Result || i == 0 || e.req.Items[i-1].What != wire.Result || e.req.Items[i-1].Msg != it.Msg {
			return false
		}
		all, k := e.messageList(), slices.Index(e.messageList().Items(), e.req.Msgs[it.Msg].Node)
		if k < 0 || !e.removeItem(it) {
			return false
		}
		key := map[string]string{evidence.Anthropic: "content", evidence.Gemini: "parts"}[e.x.Provider]
		all.SetItems(slices.Insert(all.Items(), k+1, mustParse(`{"role":"user","`+key+`":[`+string(tree.Encode(it.Node))+`]}`)))
		return true
	})
}

func dropOpening(e *editor) bool {
	call := e.findItem(func(_ int, it *wire.Item) bool { return it.What == wire.Call })
	if call < 0 || e.req.Items[call].Msg == 0 {
		return false
	}
	e.messageList().SetItems(e.messageList().Items()[e.req.Items[call].Msg:])
	return true
}

func reorderResults(e *editor) bool {
	return e.eachItem(func(i int, it *wire.Item) bool {
		if it.What != wire.Result || i == 0 {
			return false
		}
		before := &e.req.Items[i-1]
		return before.What == wire.Result && e.callOf(before) >= 0 && e.callOf(before) < e.callOf(it) && e.swapItems(before, it)
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
