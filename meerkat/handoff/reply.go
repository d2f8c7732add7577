package handoff

import (
	"bytes"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// replies decides what of each reply goes out.
func (b *builder) replies(messages []placed) []placed {
	out := make([]placed, len(messages))
	for i, m := range messages {
		if m.Role == transcript.RoleAssistant {
			m.Message = b.reply(m, out[:i], messages[i+1:])
		}
		out[i] = m
	}
	return out
}

// reply returns a reply as it goes out. Each rule looks at all of it and says
// what becomes of its blocks; of several rules the first is the one that is
// told.
func (b *builder) reply(m placed, before, after []placed) transcript.Message {
	b.fates = append(b.fates[:0], make([]fate, len(m.Blocks))...)
	r := &reply{builder: b, placed: m, before: before, after: after, fates: b.fates}
	r.thoughts()
	r.aborted()
	r.twins()
	r.foreign()
	r.unsigned()
	r.silenced()
	r.unboundThinking()
	r.repeated()
	r.serverTools()
	r.together()
	r.ending()
	r.remember()
	return r.out()
}

// reply is one reply under judgement.
type reply struct {
	*builder
	placed
	before, after []placed
	fates         []fate // of each block
}

// fate is what becomes of one block and why.
type fate struct {
	kind         fateKind
	rule, reason string
}

type fateKind int

const (
	goes    fateKind = iota // as it came
	plain                   // without token, wire form and origin: as anybody's
	unsent                  // not at all, and nobody misses it
	dropped                 // not at all
)

// set worsens the fate of a block. The first reason stays.
func (r *reply) set(i int, kind fateKind, rule, reason string) {
	f := &r.fates[i]
	if kind <= f.kind || f.kind == unsent {
		return
	}
	f.kind = kind
	if f.rule == "" {
		f.rule, f.reason = rule, reason
	}
}

// estrange makes the block one that anybody could have made: what is nothing
// without its origin is left out.
func (r *reply) estrange(i int, rule, reason string) {
	switch r.Blocks[i].Type {
	case transcript.BlockReasoning, transcript.BlockOpaque:
		r.set(i, dropped, rule, reason)
	case transcript.BlockText, transcript.BlockToolUse:
		r.set(i, plain, rule, reason)
	}
}

// each calls f with the index of each block of a type that still goes out as it
// came.
func (r *reply) each(kind transcript.BlockType, f func(i int, b *transcript.Block)) {
	for i := range r.Blocks {
		if r.Blocks[i].Type == kind && r.fates[i].kind == goes {
			f(i, &r.Blocks[i])
		}
	}
}

// out applies the fates. A reply that keeps all its blocks is not copied.
func (r *reply) out() transcript.Message {
	kept, copied, called := r.Blocks, false, false
	for i := range r.Blocks {
		b, ok := r.settle(i, &called)
		old := &r.Blocks[i]
		if !copied && (!ok || r.fates[i].kind != goes || b.Name != old.Name || !bytes.Equal(b.Args, old.Args)) {
			kept, copied = append([]transcript.Block(nil), r.Blocks[:i]...), true
		}
		if copied && ok {
			kept = append(kept, b)
		}
	}
	if len(r.Parts) > 0 {
		kept = append(slices.Clip(kept), r.pictures(r.Parts)...)
		r.Parts = nil
	}
	r.Blocks = kept
	if r.StopReason == transcript.StopPauseTurn && !r.target.resumes(&r.Message) {
		r.StopReason = transcript.StopEndTurn // to the target it is one like any other
	}
	return r.Message
}

// settle returns a block as it goes out, false if it does not, and tells of
// what it lost, once.
func (r *reply) settle(i int, called *bool) (b transcript.Block, ok bool) {
	b = r.Blocks[i]
	f := r.fates[i]
	loss := fate{}
	if f.kind == dropped && substantial(&b) || f.kind == plain && token(&b) != "" {
		loss = f
	}
	if f.kind == dropped && b.Type == transcript.BlockOpaque && len(b.Parts) > 0 {
		b, f.kind = r.picture(&b), plain
		loss = fate{rule: "H16", reason: "the target takes no images from a model"}
	}
	if f.kind == plain {
		b.Meta, b.Raw, b.Origin = nil, nil, nil
	}
	ok = f.kind < unsent && !r.void(&b)
	if ok && b.Type == transcript.BlockToolUse {
		if l := r.call(&b, !*called); loss.rule == "" {
			loss = l
		}
		*called = true
	}
	if loss.rule != "" {
		r.tell(i, loss)
	}
	return b, ok
}

func (r *reply) tell(i int, f fate) {
	id := ""
	if r.Blocks[i].Type == transcript.BlockToolUse {
		id = r.Blocks[i].ID
	}
	r.lose(f.rule, r.at, i, id, f.reason)
}

// substantial reports whether leaving b out loses anything.
func substantial(b *transcript.Block) bool {
	switch b.Type {
	case transcript.BlockText, transcript.BlockReasoning:
		return b.Text != "" || token(b) != ""
	default:
		return true
	}
}

// token returns the continuity token of b, "" if it has none.
func token(b *transcript.Block) string {
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
