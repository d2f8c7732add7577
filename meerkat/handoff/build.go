package handoff

import (
	"cmp"
	"errors"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// ErrNothing says that a history holds nothing that a model could answer.
var ErrNothing = errors.New("the conversation is empty; add a user message")

// Build returns what of h goes to t. It is a pure function that leaves h as it
// is; its messages share memory with those of h. The same history gives the
// same transcript, and a longer one begins with the messages of the shorter,
// unless one of its open calls has got its result since: what a message becomes
// depends on those before it alone.
//
// Every call has exactly one result right behind it and every result its call.
// Messages and blocks of kinds that this version does not know stay, for the
// renderers to refuse. The only error is ErrNothing.
func Build(h History, t Target) (Transcript, error) {
	b := &builder{target: t, history: h}
	messages := b.leaveOutRefused(b.viewCompacted())
	messages = b.decideReplies(messages)
	messages = b.completePairs(messages)
	messages = b.orderSpeakers(messages)
	b.replaceMedia(messages)
	out := Transcript{Messages: make([]transcript.Message, len(messages))}
	for i, m := range messages {
		out.Messages[i] = m.Message
	}
	if !slices.ContainsFunc(out.Messages, isConversation) {
		return Transcript{}, ErrNothing
	}
	out.ThinkingOff = b.turnThinkingOff(messages)
	slices.SortStableFunc(b.degraded, func(x, y Degradation) int {
		return cmp.Or(cmp.Compare(x.Message, y.Message), cmp.Compare(x.Block, y.Block))
	})
	out.Degraded = b.degraded
	return out, nil
}

// isConversation reports whether a message is part of the conversation rather than of
// what stands ahead of it.
func isConversation(m transcript.Message) bool { return m.Role != transcript.RoleSystem }

// placed is a message and its index in the history, -1 for one that was made
// here.
type placed struct {
	transcript.Message
	at int
	// isWindow is set for a provider's window, which speaks for both sides.
	isWindow bool
}

// builder collects what is lost.
type builder struct {
	target  Target
	history History
	// unboundBefore ends the messages whose thinking is bound to a prefix that is not
	// sent, summarisedBefore those that the last summary stands for.
	unboundBefore    int
	summarisedBefore int
	degraded         []Degradation
	decisions        []decision      // of the reply that is being decided; reused
	sent             map[string]bool // identities of what was sent back to its origin
}

// degrade reports one loss.
func (b *builder) degrade(rule string, message, block int, callID, reason string) {
	b.degraded = append(b.degraded, Degradation{
		Rule: rule, Message: message, Block: block, CallID: callID, Reason: reason,
	})
}
