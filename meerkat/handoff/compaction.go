package handoff

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// viewCompacted returns the history as the last compaction shows it: what stood ahead of the
// conversation, the summary as the user's, the kept messages, and all after
// them. Pairs that it tears are mended like any other.
func (b *builder) viewCompacted() []placed {
	all := b.history.Messages
	last := b.history.LastCompaction(b.target)
	if last < 0 {
		return placeFrom(nil, all, 0)
	}
	c := b.history.Compactions[last]
	through := min(max(c.Through, 0), len(all))
	// Note that what stood before a compaction is not what thinking made
	// back then is bound to any more. A model that checks would refuse it.
	if b.target.Model.PrefixBinding {
		b.unboundBefore = max(c.Made, c.Through)
	}
	if c.Window == nil {
		b.summarisedBefore = through
	}
	var out []placed
	head := 0
	for head < through && all[head].Role == transcript.RoleSystem {
		out = append(out, placed{Message: all[head], at: head})
		head++
	}
	if c.Window != nil {
		out = append(out, placed{Message: *c.Window, at: -1, isWindow: true})
	}
	if strings.TrimSpace(c.Summary) != "" {
		out = append(out, placed{Message: transcript.User(c.Summary), at: -1})
	}
	for _, k := range c.Kept {
		if k >= head && k < through {
			out = append(out, placed{Message: all[k], at: k})
		}
	}
	return placeFrom(out, all, through)
}

// LastCompaction returns the index of the last compaction that the target reads, which is
// the one that counts; -1 if there is none.
func (h *History) LastCompaction(t Target) int {
	for i := range slices.Backward(h.Compactions) {
		if c := &h.Compactions[i]; c.Window == nil || h.showsWindow(c, t) {
			return i
		}
	}
	return -1
}

// showsWindow reports whether the target takes a provider's window as it came: the target
// made it, and has not refused its tokens since.
func (h *History) showsWindow(c *Compaction, t Target) bool {
	wasRefused := func(r Repair) bool {
		return (r.Kind == RepairTokens || r.Kind == RepairOpaque) && r.Through >= c.Made && r.AppliesTo(t)
	}
	return !slices.ContainsFunc(h.Repairs, wasRefused) &&
		!slices.ContainsFunc(c.Window.Blocks, func(block transcript.Block) bool { return t.Raw(&block) == nil })
}

// omitReplacedCompactions leaves out the compactions of a provider that do not hold for
// the target: what they stood for is sent to it, or a summary of all that was said.
func (r *reply) omitReplacedCompactions() {
	for i := range r.Blocks {
		if r.Blocks[i].IsCompaction() && !r.isWindow && (r.decisions[i].isForeign || r.at < r.summarisedBefore) {
			r.decisions[i].disposition = omit
		}
	}
}

// placeFrom appends messages from an index on.
func placeFrom(out []placed, all []transcript.Message, from int) []placed {
	for i := from; i < len(all); i++ {
		out = append(out, placed{Message: all[i], at: i})
	}
	return out
}
