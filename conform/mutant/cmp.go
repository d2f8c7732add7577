package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// compactionMutants touch the summaries that providers hide.
var compactionMutants = []Mutant{
	{"rename-compaction", "gives a compaction another id", []string{"CMP-001"}, changeCompaction(func(e *editor, it *wire.Item) bool {
		return it.ItemID != "" && setMember(it.Node, "id", jsonString("cmp_99z"))
	}, evidence.OpenAI)},
	{"compaction-to-gateway", "sends a compaction to another host", []string{"CMP-002"}, changeLastCompaction(func(e *editor, _ *wire.Item) bool {
		e.x.Request.URL = "https://gateway.example/v1/responses"
		return true
	})},
	{"compaction-to-model", "sends a compaction to another model", []string{"CMP-002"}, changeCompaction(func(e *editor, _ *wire.Item) bool {
		return e.setModel("gpt-5.2")
	}, evidence.OpenAI)},
	{"prune-window", "leaves a message of a compacted window out", []string{"CMP-003"}, changeRequest(pruneWindow, evidence.OpenAI)},
	{"lose-compaction", "leaves the compaction out with what it stands for", []string{"CMP-004"}, changeCompaction(func(e *editor, it *wire.Item) bool {
		return e.arrayOf(it).Items()[0].Get("role").Text() == "assistant" && e.removeItem(it)
	}, evidence.OpenAI)},
	{"compaction-as-text", "sends the ciphertext of a compaction as a text", []string{"CMP-004"}, changeLastCompaction(func(e *editor, it *wire.Item) bool {
		text := jsonString("Summary so far: " + it.Node.Get("encrypted_content").Text())
		return e.insertNode(it, 1, mustParse(`{"type":"message","role":"user","content":[{"type":"input_text","text":`+string(tree.Encode(text))+`}]}`))
	})},
	{"plain-compaction", "puts a summary of its own into a compaction", []string{"CMP-005"}, changeCompaction(func(_ *editor, it *wire.Item) bool {
		return setMember(it.Node, "encrypted_content", jsonString("The user counts herons."))
	}, evidence.OpenAI)},
	{"rewrite-compaction", "changes the summary of a compaction", []string{"CMP-006"}, changeCompaction(func(_ *editor, it *wire.Item) bool {
		return rewriteMember(it.Node, func(s string) string { return strings.TrimSuffix(s, ".") + "…" }, "content")
	}, evidence.Anthropic)},
	{"unsign-compaction", "takes the signature from a compaction", []string{"CMP-006"}, changeCompaction(func(_ *editor, it *wire.Item) bool {
		return dropMember(it.Node, "signature")
	}, evidence.Anthropic)},
}

// pruneWindow removes the message of the user in front of a compaction: only a window has
// one there.
func pruneWindow(e *editor) bool {
	input := e.doc.Get("input")
	for i, item := range input.List() {
		if i > 0 && isCompaction(item.Get("type").Text()) && input.Items()[i-1].Get("role").Text() == "user" {
			input.SetItems(slices.Delete(input.Items(), i-1, i))
			return true
		}
	}
	return false
}

func isCompaction(kind string) bool { return strings.HasPrefix(kind, "compaction") }

// changeCompaction makes a mutant that changes the compactions of every request.
func changeCompaction(change func(e *editor, it *wire.Item) bool, provider string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return everyRequest(func(e *editor) bool {
		return e.x.Provider == provider && e.eachItem(func(_ int, it *wire.Item) bool { return isCompaction(it.Type) && it.Model() && change(e, it) })
	})
}

// changeLastCompaction makes a mutant that changes the last request of OpenAI's that holds
// a compaction.
func changeLastCompaction(change func(e *editor, it *wire.Item) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		for n := len(ev.Exchanges) - 1; n > 0; n-- {
			e := openEditor(&ev, n, nil)
			if e.x.Provider != evidence.OpenAI || !e.asksForAnswer() {
				continue
			}
			if e.eachItem(func(_ int, it *wire.Item) bool { return isCompaction(it.Type) && it.ItemID != "" && change(e, it) }) {
				e.x.Request.Body = tree.Encode(e.doc)
				return ev, true
			}
		}
		return ev, false
	}
}
