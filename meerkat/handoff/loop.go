package handoff

import (
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// turnThinkingOff reports whether thinking stays off until the open tool loop is
// closed: the loop began without thinking of the target, whose model has a
// thinking budget.
func (b *builder) turnThinkingOff(messages []placed) bool {
	m := b.target.Model
	if m.Thinking != catalog.ThinkingBudget || !m.Thinks(b.target.Effort) {
		return false
	}
	all := make([]transcript.Message, len(messages))
	for i := range messages {
		all[i] = messages[i].Message
	}
	first := openLoop(all)
	if first < 0 || b.target.beginsWithThinking(&all[first]) {
		return false
	}
	b.degrade(
		ruleOpenLoop, messages[first].at, -1, "",
		"a tool loop is open that "+m.Model+" did not begin with thinking; it does not think until the loop is closed",
	)
	return true
}

// LoopThinks reports whether the open tool loop of a conversation, if there is
// one, begins with thinking of t.
func (t Target) LoopThinks(messages []transcript.Message) bool {
	first := openLoop(messages)
	return first < 0 || t.beginsWithThinking(&messages[first])
}

// openLoop returns the index of the first reply of the tool loop that the
// conversation ends in, -1 if it ends in none. Whatever a user says beside
// results begins the loop anew.
func openLoop(messages []transcript.Message) int {
	at := len(messages) - 1
	for at >= 0 && isAsking(messages[at].Role) {
		at--
	}
	if at < 0 || messages[at].Role != transcript.RoleToolResults {
		return -1
	}
	first := -1
	for ; at >= 0; at-- {
		switch {
		case messages[at].Role == transcript.RoleAssistant:
			first = at
		case isAsking(messages[at].Role):
			return first
		}
	}
	return first
}

// isAsking reports whether messages of the role ask the model for a reply.
func isAsking(r transcript.Role) bool {
	return r == transcript.RoleUser || r == transcript.RoleDeveloper || r == transcript.RoleSystem
}

// beginsWithThinking reports whether a reply begins with thinking that goes back to t.
func (t Target) beginsWithThinking(m *transcript.Message) bool {
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if b.Type == transcript.BlockText && strings.TrimSpace(b.Text) == "" {
			continue
		}
		return b.Type == transcript.BlockReasoning && tokenOf(b) != "" && t.Made(b)
	}
	return false
}
