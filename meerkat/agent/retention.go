package agent

import (
	"cmp"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// retentionUnit is a group of messages that are kept or left out together, see
// [session.Units].
type retentionUnit struct {
	indices []int
	weight  int // in tokens, about
	class   int // of retention, 0 first
}

// The classes of retention: what is kept first. Messages that ask for the next
// reply, and what the agent told the model, are always kept.
const (
	classAlways = iota
	classUser
	classResults
	classReply
)

// messagesToKeep chooses the messages that are sent verbatim: by class, the
// newest first, as long as there is room. Kept is at most half of the
// conversation, so that there is always something to leave out.
func (s *state) messagesToKeep() []int {
	units := s.retentionUnits()
	room := cmp.Or(s.settings.compaction.Keep, s.contextWindow()/10, DefaultKeep)
	return selectUnits(min(room, totalWeight(units)/2), units)
}

func totalWeight(units []retentionUnit) int {
	all := 0
	for _, u := range units {
		all += u.weight
	}
	return all
}

func selectUnits(room int, units []retentionUnit) []int {
	slices.SortStableFunc(units, func(a, b retentionUnit) int {
		return cmp.Or(a.class-b.class, b.indices[0]-a.indices[0])
	})
	var kept []int
	for _, u := range units {
		if u.class != classAlways && u.weight > room {
			continue
		}
		room -= u.weight
		kept = append(kept, u.indices...)
	}
	slices.Sort(kept)
	return kept
}

// retentionUnits groups the messages that the provider gets now, without an
// earlier summary.
func (s *state) retentionUnits() []retentionUnit {
	messages := s.session.Messages
	var units []retentionUnit
	for _, indices := range session.Units(messages, s.session.VisibleMessages(s.lastCompaction())) {
		u := retentionUnit{indices: indices, class: classReply}
		for _, i := range indices {
			u.weight += estimateTokens(&messages[i])
			u.class = min(u.class, retentionClass(&messages[i]))
		}
		units = append(units, u)
	}
	if len(units) > 0 && canContinue(s.session.Messages) {
		keepOpen(messages, units, cmp.Or(s.contextWindow()/2, DefaultKeep))
	}
	return units
}

// keepOpen marks what the next reply needs of a conversation that waits for it: the
// last prompt and the end. An answer in which the model thinks, and that has more
// tokens than most, is left to the summary as a whole: it would soon fill the
// window by itself.
func keepOpen(messages []transcript.Message, units []retentionUnit, most int) {
	last := &units[len(units)-1]
	thinks := slices.ContainsFunc(last.indices, func(i int) bool { return messages[i].HasReasoning() })
	if !thinks || last.weight <= most {
		last.class = classAlways
	}
	for i := range slices.Backward(units) {
		if messages[units[i].indices[0]].Role == transcript.RoleUser {
			units[i].class = classAlways
			return
		}
	}
}

func retentionClass(m *transcript.Message) int {
	switch m.Role {
	case transcript.RoleUser:
		return classUser
	case transcript.RoleToolResults:
		return classResults
	case transcript.RoleSystem, transcript.RoleDeveloper:
		return classAlways
	default:
		return classReply
	}
}

// estimateTokens returns about how many tokens m has, its continuity tokens
// included: they go back with it.
func estimateTokens(m *transcript.Message) int {
	n := len(m.Content) + partsSize(m.Parts)
	for i := range m.Blocks {
		n += blockSize(&m.Blocks[i])
	}
	for i := range m.Results {
		n += len(m.Results[i].Content) + partsSize(m.Results[i].Parts)
	}
	return n/bytesPerToken + 1
}

// blockSize returns about how many bytes a block has in a request.
func blockSize(b *transcript.Block) int {
	n := max(len(b.Text)+len(b.Args)+len(b.Name), len(b.Raw))
	if b.Meta != nil && len(b.Raw) == 0 {
		n += len(b.Meta.Signature) + len(b.Meta.Data) + len(b.Meta.ThoughtSignature)
		if b.Meta.EncryptedContent != nil {
			n += len(*b.Meta.EncryptedContent)
		}
	}
	return n
}

func partsSize(parts []transcript.Part) (n int) {
	for i := range parts {
		n += len(parts[i].Data) + len(parts[i].URL)
	}
	return n
}
