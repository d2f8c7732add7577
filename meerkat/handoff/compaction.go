package handoff

import (
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// viewCompacted returns the history as the last compaction shows it: what stood ahead of the
// conversation, the summary as the user's, the kept messages, and all after
// them. Pairs that it tears are mended like any other.
func (b *builder) viewCompacted() []placed {
	all := b.history.Messages
	n := len(b.history.Compactions)
	if n == 0 {
		return placeFrom(nil, all, 0)
	}
	c := b.history.Compactions[n-1]
	through := min(max(c.Through, 0), len(all))
	b.unbindThinking(c)
	b.summarisedBefore = through
	var out []placed
	head := 0
	for head < through && all[head].Role == transcript.RoleSystem {
		out = append(out, placed{all[head], head})
		head++
	}
	if strings.TrimSpace(c.Summary) != "" {
		out = append(out, placed{transcript.User(c.Summary), -1})
	}
	for _, k := range c.Kept {
		if k >= head && k < through {
			out = append(out, placed{all[k], k})
		}
	}
	return placeFrom(out, all, through)
}

// unbindThinking notes that what stood before a compaction is not what thinking made
// back then is bound to any more. A model that checks would refuse it.
func (b *builder) unbindThinking(c Compaction) {
	if b.target.Model.PrefixBinding {
		b.unboundBefore = max(c.Made, c.Through)
	}
}

// omitReplacedCompactions leaves out the compactions of a provider that do not hold for
// the target: what they stood for is sent to it, or a summary of all that was said.
func (r *reply) omitReplacedCompactions() {
	for i := range r.Blocks {
		if r.Blocks[i].IsCompaction() && (r.decisions[i].isForeign || r.at < r.summarisedBefore) {
			r.decisions[i].disposition = omit
		}
	}
}

// placeFrom appends messages from an index on.
func placeFrom(out []placed, all []transcript.Message, from int) []placed {
	for i := from; i < len(all); i++ {
		out = append(out, placed{all[i], i})
	}
	return out
}
