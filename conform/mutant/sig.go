package mutant

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// anthropicMutants disturb thinking.
var anthropicMutants = []Mutant{
	{"trim-signature", "loses a character of a signature", []string{"SIG-001"}, changeRequest(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return it.What == wire.Thinking && rewriteMember(it.Node, cutCharacter, "signature")
	}), evidence.Anthropic)},
	{"edit-thinking", "changes the text under a signature", []string{"SIG-001"}, changeRequest(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return it.What == wire.Thinking && rewriteMember(it.Node, appendDot, "thinking")
	}), evidence.Anthropic)},
	{"drop-thinking", "leaves out the thinking of the open turn", []string{"SIG-002", "SIG-004"}, changeRequest(dropThinking, evidence.Anthropic)},
	{"drop-redacted", "leaves out redacted thinking", []string{"SIG-002"}, changeRequest(thinkingBlock(func(e *editor, it *wire.Item) bool {
		return it.What == wire.Redacted && e.removeItem(it)
	}), evidence.Anthropic)},
	{"trim-redacted", "loses a character of redacted data", []string{"SIG-003"}, changeRequest(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return it.What == wire.Redacted && rewriteMember(it.Node, cutCharacter, "data")
	}), evidence.Anthropic)},
	{"thinking-last", "puts thinking after the calls it led to", []string{"SIG-004"}, changeRequest(thinkingLast, evidence.Anthropic)},
	{"omit-thinking-text", "leaves out the empty thinking text", []string{"SIG-005"}, changeRequest(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return dropMember(it.Node, "thinking")
	}), evidence.Anthropic)},
	{"omit-signature", "leaves out a signature", []string{"SIG-005"}, changeRequest(thinkingBlock(func(_ *editor, it *wire.Item) bool {
		return dropMember(it.Node, "signature")
	}), evidence.Anthropic)},
	{"drop-middle-thinking", "leaves out thinking between other thinking", []string{"SIG-006"}, changeRequest(dropMiddleThinking, evidence.Anthropic)},
}

// thinkingBlock changes the first hidden block of the open turn that an earlier
// reply emitted and change takes.
func thinkingBlock(change func(e *editor, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			return i >= e.turnStart() && it.Continuity() && it.Token != "" && e.wasEmitted(it) && change(e, it)
		})
	}
}

// leadsLast finds hidden blocks that begin the last message of the model before
// tool results, with a call in it: the ones every API asks for.
func leadsLast(e *editor) (blocks []*wire.Item) {
	last := len(e.req.Items) - 1
	for last >= 0 && e.req.Items[last].What == wire.Result {
		last--
	}
	if last < 0 || last == len(e.req.Items)-1 || e.req.Items[last].What != wire.Call {
		return nil
	}
	first := last
	for first > 0 && e.req.Items[first-1].Model() {
		first--
	}
	for i := first; i <= last && e.req.Items[i].Continuity(); i++ {
		if it := &e.req.Items[i]; it.Token == "" || !e.wasEmitted(it) {
			return nil
		}
		blocks = append(blocks, &e.req.Items[i])
	}
	return blocks
}

func dropThinking(e *editor) bool {
	blocks := leadsLast(e)
	if t := e.doc.Get("thinking").Get("type").Text(); t == "disabled" {
		return false
	}
	for _, it := range blocks {
		if !e.removeItem(it) {
			return false
		}
	}
	return len(blocks) > 0
}

func thinkingLast(e *editor) bool {
	blocks := leadsLast(e)
	if len(blocks) == 0 || e.doc.Get("thinking").Get("type").Text() != "enabled" {
		return false
	}
	list, k := e.arrayIndex(blocks[0])
	if k != 0 || len(list.Items()) == len(blocks) {
		return false
	}
	list.SetItems(append(list.Items()[len(blocks):], list.Items()[:len(blocks)]...))
	return true
}

func dropMiddleThinking(e *editor) bool {
	var blocks []*wire.Item
	e.eachItem(func(_ int, it *wire.Item) bool {
		if it.Continuity() && it.Token != "" && e.wasEmitted(it) {
			blocks = append(blocks, it)
		}
		return false
	})
	return len(blocks) > 2 && e.removeItem(blocks[1])
}
