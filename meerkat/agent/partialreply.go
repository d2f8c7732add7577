package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// partialReply collects what has arrived of a reply, by the index of the block.
// When the user interrupts the reply, nothing else is left of it.
type partialReply struct {
	shown bool // something of it was reported
	whole map[int]transcript.Block
	texts map[int][]string // of text blocks that have not ended, as it came
	usage *transcript.Usage
}

// addEvent notes an event and its delta, whose memory it shares with the listener.
func (a *partialReply) addEvent(e stream.Event, delta string) {
	switch e.Kind {
	case stream.EventBlockStart:
		if e.Block != nil && e.Block.Type == transcript.BlockText {
			if a.texts == nil {
				a.texts = map[int][]string{}
			}
			a.texts[e.Index] = []string{e.Block.Text}
		}
	case stream.EventTextDelta:
		if text, ok := a.texts[e.Index]; ok {
			a.texts[e.Index] = append(text, delta)
		}
	case stream.EventBlockComplete:
		b := *e.Block
		if a.whole == nil {
			a.whole = map[int]transcript.Block{}
		}
		b.Args, b.Raw = slices.Clone(b.Args), slices.Clone(b.Raw)
		a.whole[e.Index] = b
		delete(a.texts, e.Index)
	case stream.EventUsage:
		a.usage = &e.Usage
	default:
	}
}

// keepableBlocks returns what an interrupted reply leaves, in the order in which
// the blocks started: the blocks that are complete, and the text of text blocks
// that are not (interrupted-reply).
func (a *partialReply) keepableBlocks() []transcript.Block {
	all := maps.Clone(a.whole)
	for index, pieces := range a.texts {
		if s := strings.ToValidUTF8(strings.Join(pieces, ""), ""); strings.TrimSpace(s) != "" {
			if all == nil {
				all = map[int]transcript.Block{}
			}
			all[index] = transcript.Text(s)
		}
	}
	var out []transcript.Block
	for _, index := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[index])
	}
	return out
}
