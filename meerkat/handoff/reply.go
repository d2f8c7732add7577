package handoff

import (
	"bytes"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// decideReplies decides what of each reply is sent.
func (b *builder) decideReplies(messages []placed) []placed {
	out := make([]placed, len(messages))
	for i, m := range messages {
		if m.Role == transcript.RoleAssistant {
			m.Message = b.decideReply(m, out[:i], messages[i+1:])
		}
		out[i] = m
	}
	return out
}

// decideReply returns a reply as it is sent.
func (b *builder) decideReply(m placed, before, after []placed) transcript.Message {
	b.decisions = append(b.decisions[:0], make([]decision, len(m.Blocks))...)
	r := &reply{builder: b, placed: m, before: before, after: after, decisions: b.decisions}
	for i := range m.Blocks {
		r.decisions[i].isForeign = b.target.isForeign(&m.Blocks[i])
	}
	for _, rule := range replyRules {
		rule.apply(r)
	}
	// Note what is sent back to its origin.
	for i := range r.Blocks {
		if m := identityOf(&r.Blocks[i]); m != "" && r.isKept(i) {
			if r.sent == nil {
				r.sent = map[string]bool{}
			}
			r.sent[m] = true
		}
	}
	return r.applyDecisions()
}

// reply is a reply whose blocks are being decided.
type reply struct {
	*builder
	placed
	before, after []placed
	decisions     []decision // of each block
}

// decision is the disposition of one block, with the rule that caused it.
type decision struct {
	disposition disposition
	isForeign   bool // the target did not make the block
	loss
}

// loss is what a degradation reports.
type loss struct{ rule, reason string }

// disposition says in which form a block is sent. A later one is stronger.
type disposition int

const (
	keep  disposition = iota // as it is
	strip                    // without token, wire form and origin
	omit                     // not sent, and nothing is lost
	drop                     // not sent
)

// decide strengthens the disposition of a block. The first reason stays.
func (r *reply) decide(i int, to disposition, rule, reason string) {
	d := &r.decisions[i]
	if to <= d.disposition || d.disposition == omit {
		return
	}
	d.disposition = to
	if d.rule == "" {
		d.loss = loss{rule, reason}
	}
}

// isKept reports whether a block is sent as it is, as far as decided.
func (r *reply) isKept(i int) bool { return r.decisions[i].disposition == keep }

// makeForeign treats the block as one of unknown origin: what means nothing
// without its origin is dropped, the rest is stripped.
func (r *reply) makeForeign(i int, rule, reason string) {
	switch r.Blocks[i].Type {
	case transcript.BlockReasoning, transcript.BlockOpaque:
		r.decide(i, drop, rule, reason)
	case transcript.BlockText, transcript.BlockToolUse:
		r.decide(i, strip, rule, reason)
	}
}

// eachKept calls f with each block of a type that is sent as it is.
func (r *reply) eachKept(kind transcript.BlockType, f func(i int, b *transcript.Block)) {
	for i := range r.Blocks {
		if r.Blocks[i].Type == kind && r.isKept(i) {
			f(i, &r.Blocks[i])
		}
	}
}

// applyDecisions returns the reply as it is sent. A reply that keeps all its blocks is not copied.
func (r *reply) applyDecisions() transcript.Message {
	kept, copied, called := r.Blocks, false, false
	for i := range r.Blocks {
		b, ok := r.applyDecision(i, &called)
		old := &r.Blocks[i]
		if !copied && (!ok || !r.isKept(i) || b.Name != old.Name || !bytes.Equal(b.Args, old.Args)) {
			kept, copied = append([]transcript.Block(nil), r.Blocks[:i]...), true
		}
		if copied && ok {
			kept = append(kept, b)
		}
	}
	if len(r.Parts) > 0 {
		kept = append(slices.Clip(kept), r.describeParts(r.Parts)...)
		r.Parts = nil
	}
	r.Blocks = kept
	if r.StopReason == transcript.StopPauseTurn && !r.target.continuesPause(&r.Message) {
		r.StopReason = transcript.StopEndTurn // the target does not know about the pause
	}
	return r.Message
}

// applyDecision returns a block as it is sent, false if it is not, and reports
// what it lost, once.
func (r *reply) applyDecision(i int, called *bool) (b transcript.Block, ok bool) {
	b = r.Blocks[i]
	d := r.decisions[i]
	lost := loss{}
	if d.disposition == drop && hasContent(&b) || d.disposition == strip && tokenOf(&b) != "" {
		lost = d.loss
	}
	if d.disposition == drop && b.Type == transcript.BlockOpaque && len(b.Parts) > 0 {
		b, d.disposition = describePicture(&b), strip
		lost = loss{ruleUnsupportedMedia, "the target takes no images from a model"}
	}
	if d.disposition == strip {
		b.Meta, b.Raw, b.Origin = nil, nil, nil
	}
	ok = d.disposition < omit && !r.isVoid(&b)
	if ok && b.Type == transcript.BlockToolUse {
		if l := r.fitCall(&b, !*called); lost.rule == "" {
			lost = l
		}
		*called = true
	}
	if lost.rule != "" {
		r.reportLoss(i, lost)
	}
	return b, ok
}

func (r *reply) reportLoss(i int, l loss) {
	id := ""
	if r.Blocks[i].Type == transcript.BlockToolUse {
		id = r.Blocks[i].ID
	}
	r.degrade(l.rule, r.at, i, id, l.reason)
}

// hasContent reports whether leaving b out loses anything.
func hasContent(b *transcript.Block) bool {
	switch b.Type {
	case transcript.BlockText, transcript.BlockReasoning:
		return b.Text != "" || tokenOf(b) != ""
	default:
		return true
	}
}

// tokenOf returns the continuity token of b, "" if it has none.
func tokenOf(b *transcript.Block) string {
	m := b.Meta
	switch {
	case m == nil:
		return ""
	case m.EncryptedContent != nil:
		return *m.EncryptedContent
	case m.Signature != "":
		return m.Signature
	case m.Data != "":
		return m.Data
	case len(m.Unknown) > 0:
		return string(m.Unknown)
	}
	return m.ThoughtSignature
}
