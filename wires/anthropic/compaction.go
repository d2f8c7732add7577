package anthropic

import (
	"fmt"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// The edit that asks for a compaction when the prompt is longer than a threshold, with
// the smallest and the usual threshold.
const (
	betaCompact  = "compact-2026-01-12"
	compactEdit  = "compact_20260112"
	leastTrigger = 50_000
	usualTrigger = 150_000
)

// originCompaction is the origin of what a compaction carries for the provider.
const originCompaction = "anthropic/compaction"

// triggerFits holds the threshold of a compaction to its limit.
func triggerFits(c *call, _ rule.Env) *rule.Refusal {
	for i, edit := range c.root.Given("context_management").List("edits") {
		if trigger, given := triggerOf(edit); given && trigger < leastTrigger && edit.Text("type") == compactEdit {
			return invalid("context_management.edits.%d.%s: trigger.value must be at least %d", i, compactEdit, leastTrigger)
		}
	}
	return nil
}

// triggerOf returns the threshold of a compaction, and whether the edit names one.
func triggerOf(edit *tree.Node) (tokens int, given bool) {
	if edit.Given("trigger") == nil {
		return usualTrigger, false
	}
	tokens, _ = edit.Get("trigger", "value").Whole()
	return tokens, true
}

// compaction is the block that a reply begins with when it compacts the conversation, and
// what its making took: one reads the conversation to write a summary of it.
type compaction struct {
	summary string
	token   string
	took    spent
}

// compactionOf returns the compaction that is due with a reply, nil if none is.
func compactionOf(r script.Reply) *compaction {
	c, ok := r.Request.Parsed.(*call)
	if !ok || !c.hasBeta(betaCompact) {
		return nil
	}
	for _, edit := range c.root.Given("context_management").List("edits") {
		if edit.Text("type") != compactEdit {
			continue
		}
		all := measurePrompt(c.root)
		if trigger, _ := triggerOf(edit); all.total <= trigger {
			return nil
		}
		made := &compaction{summary: fmt.Sprintf("Summary of the conversation: it had %d tokens in %d messages.", all.total, len(c.said)), took: all.splitByCache()}
		made.token = r.Key.Envelope(seal.Facts{Origin: originCompaction, Content: []byte(made.summary)}, seal.Place{Reply: messageID(r)})
		return made
	}
	return nil
}

// block is the compaction as it is whole.
func (c *compaction) block() script.Object {
	return script.Object{"type", "compaction", "content", c.summary, "encrypted_content", c.token}
}

// node is the block as the next request carries it.
func (c *compaction) node() block {
	in, _ := tree.ParseStrict(script.JSON(c.block()), tree.MaxDepth)
	return block{kind: "compaction", Node: in}
}

// addCompaction begins the reply with a compaction, when it is due. It comes in one delta.
func (s *stream) addCompaction() {
	if s.compaction == nil {
		return
	}
	s.startBlock(script.Object{"type", "compaction", "content", nil})
	s.addEvent("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
		"delta", script.Object{"type", "compaction_delta", "content", s.compaction.summary, "encrypted_content", s.compaction.token}})
	s.stopBlock()
}
