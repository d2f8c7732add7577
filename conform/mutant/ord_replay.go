package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// replayMutants disturb what is sent back.
var replayMutants = []Mutant{
	{"swap-blocks", "sends two blocks of a reply back in the other order", []string{"ORD-008"}, request(swapBlocks)},
	{"hoist-thinking", "moves hidden state to an earlier step of the turn", []string{"ORD-008"}, request(hoistThinking)},
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

// hoistThinking moves the last hidden block, whose step goes on with a call, in
// front of the first one, if results stand between them.
func hoistThinking(e *editor) bool {
	first := e.find(func(_ int, it *wire.Item) bool { return e.hidden(it) })
	for i := len(e.req.Items) - 1; first >= 0 && i > first; i-- {
		it := &e.req.Items[i]
		if !e.hidden(it) || !e.follows(i) || !slices.ContainsFunc(e.req.Items[first:i], func(o wire.Item) bool { return o.What == wire.Result }) {
			continue
		}
		moved := copyOf(it.Node)
		return e.remove(it) && e.insert(&e.req.Items[first], 0, moved)
	}
	return false
}

func (e *editor) hidden(it *wire.Item) bool { return it.Continuity() && it.Token != "" && e.known(it) }

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
