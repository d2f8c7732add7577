package stream

import (
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// String returns the text of a JSON string, "" for any other value, for a block
// of this reply: small strings cost less here than one by one.
func (a *Assembler) String(value []byte) string { return a.texts.copyString(jsontok.Text(value)) }

// SetID notes the provider's id of the reply.
func (a *Assembler) SetID(id []byte) { setIfNew(&a.reply.ResponseID, id) }

// setIfNew copies text only if it is news: some providers repeat it in every
// event.
func setIfNew(s *string, text []byte) {
	if *s != string(text) {
		*s = string(text)
	}
}

// ID returns the provider's id of the reply as far as it is known.
func (a *Assembler) ID() string { return a.reply.ResponseID }

// SetModel notes the model that the provider says it used.
func (a *Assembler) SetModel(model []byte) { setIfNew(&a.reply.Model, model) }

// SetUsage replaces the usage: provider totals overwrite, they never add.
func (a *Assembler) SetUsage(u transcript.Usage) {
	a.reply.Usage, a.reply.UsageKnown = u, true
	a.emitEvent(Event{Kind: EventUsage, Usage: u})
}

// Usage returns the usage last set.
func (a *Assembler) Usage() transcript.Usage { return a.reply.Usage }

// SetStop notes how the turn ended.
func (a *Assembler) SetStop(stop transcript.StopReason) { a.reply.Message.StopReason = stop }

// Stop returns how the turn ended, "" while that is unknown.
func (a *Assembler) Stop() transcript.StopReason { return a.reply.Message.StopReason }

// Fail notes a failure that the provider reported. The first one counts, but a
// later one may fill in what it left out.
func (a *Assembler) Fail(e ProviderError) {
	if a.failure == nil {
		a.failure = &e
		return
	}
	a.failure.Type = firstOf(a.failure.Type, e.Type)
	a.failure.Code = firstOf(a.failure.Code, e.Code)
	a.failure.Message = firstOf(a.failure.Message, e.Message)
}

// Failed reports whether the provider reported a failure.
func (a *Assembler) Failed() bool { return a.failure != nil }

// HasToolUse reports whether the reply holds a tool call.
func (a *Assembler) HasToolUse() bool {
	for i := range a.slots {
		if a.slots[i].block.Type == transcript.BlockToolUse {
			return true
		}
	}
	return false
}

// Reply returns what was assembled. Blocks that are still open are included as
// far as they went.
func (a *Assembler) Reply() Reply {
	r := a.reply
	r.Message.Role = transcript.RoleAssistant
	r.Message.Blocks = make([]transcript.Block, len(a.slots))
	for i := range a.slots {
		s := &a.slots[i]
		if s.open {
			a.fillBlock(s)
		}
		r.Message.Blocks[i] = s.block
	}

	// Every block has its origin. All of them lie in one slice: a reply of many blocks costs one
	// allocation.
	blocks := r.Message.Blocks
	if a.opts.Origin != nil {
		origins := make([]transcript.Origin, len(blocks))
		for i := range blocks {
			o := &origins[i]
			*o = *a.opts.Origin
			o.Index, o.ResponseID = i, a.reply.ResponseID
			o.Model = firstOf(o.Model, a.reply.Model)
			blocks[i].Origin = o
		}
	}
	return r
}
