package mutant

import (
	"slices"
	"strings"

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

// replayMutants disturb what is sent back.
var replayMutants = []Mutant{
	{"swap-blocks", "sends two blocks of a reply back in the other order", []string{"ORD-008"}, request(swapBlocks)},
	{"drop-call", "loses one of several calls with its result", []string{"ORD-009"}, request(dropCall)},
	{"invent-call", "puts a call into a reply that it did not emit", []string{"ORD-009"}, request(inventCall)},
	{"repeat-block", "sends a block of a reply back twice", []string{"ORD-010"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return e.known(it) && it.ID != "" && e.insert(it, 1, copyOf(it.Node))
		})
	})},
	{"edit-arguments", "changes the arguments of a call", []string{"ORD-011"}, request(editArguments)},
	{"rename-call", "changes the name of a call", []string{"ORD-011"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && it.ID != "" && e.known(it) && rewrite(part(it), func(s string) string { return s + "_2" }, "name")
		})
	})},
	{"reformat-arguments", "writes the argument string of a call anew", []string{"ORD-011"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && e.known(it) && rewrite(it.Node, func(s string) string { return s + " " }, "arguments")
		})
	}, evidence.OpenAI)},
	{"edit-text", "trims the text of a reply", []string{"ORD-013"}, request(editText)},
	{"drop-text", "leaves out the text of a reply that goes on", []string{"ORD-013"}, request(func(e *editor) bool {
		return e.each(func(i int, it *wire.Item) bool {
			return it.What == wire.Text && e.known(it) && strings.TrimSpace(it.Text) != "" && e.follows(i) && e.remove(it)
		})
	})},
}

// follows reports whether a call of the same reply stands right after item i.
func (e *editor) follows(i int) bool {
	return i+1 < len(e.req.Items) && e.req.Items[i+1].What == wire.Call && e.req.Items[i+1].ID != "" && e.known(&e.req.Items[i+1])
}

func swapBlocks(e *editor) bool {
	return e.each(func(i int, it *wire.Item) bool {
		if i == 0 || !e.known(it) || it.ID == "" {
			return false
		}
		before := &e.req.Items[i-1]
		return e.known(before) && (before.ID != "" && before.ID != it.ID || before.Token != "") && e.swap(before, it)
	})
}

func dropCall(e *editor) bool {
	return e.each(func(i int, it *wire.Item) bool {
		if it.What != wire.Call || it.ID == "" || !e.known(it) || i == 0 || !e.known(&e.req.Items[i-1]) {
			return false
		}
		for k := range e.req.Items {
			if res := &e.req.Items[k]; res.What == wire.Result && res.ID == it.ID && !e.remove(res) {
				return false
			}
		}
		return e.remove(it)
	})
}

func inventCall(e *editor) bool {
	return e.each(func(_ int, it *wire.Item) bool {
		if it.What != wire.Call || it.ID == "" || !e.known(it) {
			return false
		}
		n := copyOf(it.Node)
		drop(n, "thoughtSignature", "thought_signature")
		fields := part(&wire.Item{Node: n})
		set(fields, "name", str("invented"))
		for _, id := range []string{"id", "call_id"} {
			if fields.Get(id) != nil {
				set(fields, id, str("fc_invented"))
			}
		}
		return e.insert(it, 1, n)
	})
}

func editArguments(e *editor) bool {
	return e.each(func(_ int, it *wire.Item) bool {
		if it.What != wire.Call || it.ID == "" || !e.known(it) {
			return false
		}
		field := part(it).Any("input", "args")
		if field.Is('{') {
			return set(field, "added_by_mutant", parse("true"))
		}
		return rewrite(it.Node, func(string) string { return `{"added_by_mutant":true}` }, "arguments")
	})
}

func editText(e *editor) bool {
	return e.each(func(i int, it *wire.Item) bool {
		if it.What != wire.Text || !e.known(it) || it.Node == nil || len(it.Text) < 4 || !e.anchored(i) {
			return false
		}
		if e.x.Provider != evidence.OpenAI {
			return rewrite(it.Node, dot, "text")
		}
		content := it.Node.Get("content").Elems()
		return len(content) > 0 && rewrite(content[0], dot, "text")
	})
}

// anchored reports whether a neighbour still shows where item i came from when
// its text does not.
func (e *editor) anchored(i int) bool {
	it := &e.req.Items[i]
	if it.ItemID != "" || it.Token != "" {
		return true
	}
	for _, k := range []int{i - 1, i + 1} {
		if k >= 0 && k < len(e.req.Items) {
			if o := &e.req.Items[k]; e.known(o) && (o.ID != "" || o.Token != "") {
				return true
			}
		}
	}
	return false
}

// formMutants break the form of requests.
var formMutants = []Mutant{
	{"empty-text", "adds a text block or part that holds nothing", []string{"ORD-014"}, request(func(e *editor) bool {
		empty := map[string]string{evidence.Anthropic: `{"type":"text","text":""}`, evidence.Gemini: `{}`}[e.x.Provider]
		return e.each(func(_ int, it *wire.Item) bool { return e.insert(it, 1, parse(empty)) })
	}, evidence.Anthropic, evidence.Gemini)},
	{"empty-message", "empties a message", []string{"ORD-014"}, request(func(e *editor) bool {
		if len(e.req.Msgs) < 2 {
			return false
		}
		m := e.req.Msgs[0].Node
		return m.Get("content") != nil && set(m, "content", parse("[]")) || m.Get("parts") != nil && set(m, "parts", parse("[]"))
	}, evidence.Anthropic, evidence.Gemini)},
	{"bad-id", "gives a call an id the provider does not take", []string{"ORD-015"}, request(func(e *editor) bool {
		field, id := "id", "functions.echo:0"
		if e.x.Provider == evidence.OpenAI {
			field, id = "call_id", strings.Repeat("call_", 14)
		}
		return e.each(func(_ int, it *wire.Item) bool { return it.What == wire.Call && set(it.Node, field, str(id)) })
	}, evidence.Anthropic, evidence.OpenAI)},
	{"wrong-argument-form", "sends arguments or results as another JSON type", []string{"ORD-015"}, request(func(e *editor) bool {
		return e.each(func(_ int, it *wire.Item) bool {
			switch {
			case e.x.Provider == evidence.Gemini:
				return it.What == wire.Result && set(part(it), "response", str("heron"))
			case it.Type == "function_call":
				return set(it.Node, "arguments", parse("{}"))
			}
			return it.What == wire.Call && set(it.Node, "input", str("{}"))
		})
	})},
	{"wrong-role", "lets somebody speak whom the provider does not know", []string{"ORD-015"}, request(func(e *editor) bool {
		return len(e.req.Msgs) > 0 && e.req.Msgs[0].Node.Get("role") != nil && set(e.req.Msgs[0].Node, "role", str("tool"))
	})},
	{"end-with-assistant", "ends the request with words of the model", []string{"ORD-016"}, request(endWithAssistant, evidence.Anthropic, evidence.Gemini)},
}

func endWithAssistant(e *editor) bool {
	last := `{"role":"assistant","content":"And then"}`
	if e.x.Provider == evidence.Gemini {
		last = `{"role":"model","parts":[{"text":"And then"}]}`
	}
	for _, old := range []string{"-2", "-instant", "-3-", "-4-0", "-4-1", "-4-2", "-4-5", "-4@"} {
		if strings.HasPrefix(e.req.Model, "claude") && strings.Contains(e.req.Model, old) {
			return false // continues a prefilled answer
		}
	}
	e.msgs().Items = append(e.msgs().Items, parse(last))
	return true
}
