package handoff

import (
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The texts that stand where a provider demands a message of the user and there
// is none.
const (
	startsHere = "(the conversation goes on from here)"
	goOn       = "(go on)"
)

// orderSpeakers keeps the order of roles legal after things were left out (A-8, A-14, G-13, G-16): messages that say nothing are left out, a conversation
// begins with its user, and between two replies a message asks for the second.
func (b *builder) orderSpeakers(messages []placed) []placed {
	out := make([]placed, 0, len(messages)+1)
	started := false
	for _, m := range messages {
		if m.Role == transcript.RoleAssistant && b.awaitsUser(out) {
			// also before one that came to nothing: it was asked for
			out = append(out, placed{Message: transcript.User(goOn), at: -1})
		}
		if isSilent(&m.Message) {
			continue
		}
		if m.Role == transcript.RoleAssistant && !started && !m.isWindow {
			out = append(out, placed{Message: transcript.User(startsHere), at: -1})
		}
		started = started || m.Role != transcript.RoleSystem
		out = append(out, m)
	}
	if b.awaitsUser(out) {
		out = append(out, placed{Message: transcript.User(goOn), at: -1})
	}
	return out
}

// isSilent reports whether a message has nothing to say.
func isSilent(m *transcript.Message) bool {
	if m.Role == transcript.RoleAssistant {
		return len(m.Blocks) == 0
	}
	return isAsking(m.Role) && strings.TrimSpace(m.Content) == "" && len(m.Parts) == 0
}

// awaitsUser reports whether the conversation ends with a reply that the target does
// not go on with by itself. Anthropic goes on with one that paused while a tool
// of its own ran (ANT-S2).
func (b *builder) awaitsUser(messages []placed) bool {
	n := len(messages)
	prefill := b.target.Model.Prefill && (!b.target.Model.Traits.PrefillEndsThinking ||
		!b.target.Model.Thinks(b.target.Effort))
	if n == 0 || prefill || messages[n-1].isWindow || messages[n-1].Role != transcript.RoleAssistant {
		return false
	}
	return !b.target.continuesPause(&messages[n-1].Message)
}

// continuesPause reports whether t goes on by itself with a reply that ends the
// conversation.
func (t Target) continuesPause(m *transcript.Message) bool {
	if !t.Model.Traits.ServerTools || m.StopReason != transcript.StopPauseTurn {
		return false
	}
	for i := range m.Blocks {
		if use, result := serverCallID(&m.Blocks[i]); use != "" || result != "" {
			return true
		}
	}
	return false
}
