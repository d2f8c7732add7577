package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// replayMutants disturb what is sent back.
var replayMutants = []Mutant{
	{"swap-blocks", "sends two blocks of a reply back in the other order", []string{"ORD-008"}, changeRequest(swapBlocks)},
	{"hoist-thinking", "moves hidden state to an earlier step of the turn", []string{"ORD-008"}, changeRequest(hoistThinking)},
	{"drop-call", "loses one of several calls with its result", []string{"ORD-009"}, changeRequest(dropCall)},
	{"invent-call", "puts a call into a reply that it did not emit", []string{"ORD-009"}, changeRequest(inventCall)},
	{"repeat-block", "sends a block of a reply back twice", []string{"ORD-010"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return e.wasEmitted(it) && it.ID != "" && e.insertNode(it, 1, copyOf(it.Node))
		})
	})},
	{"edit-arguments", "changes the arguments of a call", []string{"ORD-011"}, changeRequest(editArguments)},
	{"rename-call", "changes the name of a call", []string{"ORD-011"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && it.ID != "" && e.wasEmitted(it) && rewriteMember(ownFields(it), func(s string) string { return s + "_2" }, "name")
		})
	})},
	{"reformat-arguments", "writes the argument string of a call anew", []string{"ORD-011"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && e.wasEmitted(it) && rewriteMember(it.Node, func(s string) string { return s + " " }, "arguments")
		})
	}, evidence.OpenAI)},
	{"edit-text", "trims the text of a reply", []string{"ORD-013"}, changeRequest(editText)},
	{"drop-text", "leaves out the text of a reply that goes on", []string{"ORD-013"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			return it.What == wire.Text && e.wasEmitted(it) && strings.TrimSpace(it.Text) != "" && e.callFollows(i) && e.removeItem(it)
		})
	})},
}

// callFollows reports whether a call of the same reply stands right after item i.
func (e *editor) callFollows(i int) bool {
	return i+1 < len(e.req.Items) && e.req.Items[i+1].What == wire.Call && e.req.Items[i+1].ID != "" && e.wasEmitted(&e.req.Items[i+1])
}

func swapBlocks(e *editor) bool {
	return e.eachItem(func(i int, it *wire.Item) bool {
		if i == 0 || !e.wasEmitted(it) || it.ID == "" {
			return false
		}
		before := &e.req.Items[i-1]
		return e.wasEmitted(before) && (before.ID != "" && before.ID != it.ID || before.Token != "") && e.swapItems(before, it)
	})
}

// hoistThinking moves the last hidden block, whose step goes on with a call, in
// front of the first one, if results stand between them.
func hoistThinking(e *editor) bool {
	first := e.findItem(func(_ int, it *wire.Item) bool { return e.isHiddenState(it) })
	for i := len(e.req.Items) - 1; first >= 0 && i > first; i-- {
		it := &e.req.Items[i]
		if !e.isHiddenState(it) || !e.callFollows(i) || !slices.ContainsFunc(e.req.Items[first:i], func(o wire.Item) bool { return o.What == wire.Result }) {
			continue
		}
		moved := copyOf(it.Node)
		return e.removeItem(it) && e.insertNode(&e.req.Items[first], 0, moved)
	}
	return false
}

func (e *editor) isHiddenState(it *wire.Item) bool {
	return it.Continuity() && it.Token != "" && e.wasEmitted(it)
}

func dropCall(e *editor) bool {
	return e.eachItem(func(i int, it *wire.Item) bool {
		if it.What != wire.Call || it.ID == "" || !e.wasEmitted(it) || i == 0 || !e.wasEmitted(&e.req.Items[i-1]) {
			return false
		}
		for k := range e.req.Items {
			if res := &e.req.Items[k]; res.What == wire.Result && res.ID == it.ID && !e.removeItem(res) {
				return false
			}
		}
		return e.removeItem(it)
	})
}

func inventCall(e *editor) bool {
	return e.eachItem(func(_ int, it *wire.Item) bool {
		if it.What != wire.Call || it.ID == "" || !e.wasEmitted(it) {
			return false
		}
		n := copyOf(it.Node)
		dropMember(n, "thoughtSignature", "thought_signature")
		fields := ownFields(&wire.Item{Node: n})
		setMember(fields, "name", jsonString("invented"))
		for _, id := range []string{"id", "call_id"} {
			if fields.Get(id) != nil {
				setMember(fields, id, jsonString("fc_invented"))
			}
		}
		return e.insertNode(it, 1, n)
	})
}

func editArguments(e *editor) bool {
	return e.eachItem(func(_ int, it *wire.Item) bool {
		if it.What != wire.Call || it.ID == "" || !e.wasEmitted(it) {
			return false
		}
		field := ownFields(it).Any("input", "args")
		if field.Is(tree.Object) {
			return setMember(field, "added_by_mutant", mustParse("true"))
		}
		return rewriteMember(it.Node, func(string) string { return `{"added_by_mutant":true}` }, "arguments")
	})
}

func editText(e *editor) bool {
	return e.eachItem(func(i int, it *wire.Item) bool {
		if it.What != wire.Text || !e.wasEmitted(it) || it.Node == nil || len(it.Text) < 4 || !e.hasKnownNeighbour(i) {
			return false
		}
		if e.x.Provider != evidence.OpenAI {
			return rewriteMember(it.Node, appendDot, "text")
		}
		content := it.Node.Get("content").List()
		return len(content) > 0 && rewriteMember(content[0], appendDot, "text")
	})
}

// hasKnownNeighbour reports whether a neighbour still shows where item i came from when
// its text does not.
func (e *editor) hasKnownNeighbour(i int) bool {
	it := &e.req.Items[i]
	if it.ItemID != "" || it.Token != "" {
		return true
	}
	for _, k := range []int{i - 1, i + 1} {
		if k >= 0 && k < len(e.req.Items) {
			if o := &e.req.Items[k]; e.wasEmitted(o) && (o.ID != "" || o.Token != "") {
				return true
			}
		}
	}
	return false
}
