package session

import (
	"slices"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// VisibleMessages returns the indices of the messages that a request shows as they are:
// those that the last compaction kept, and all after it. last is the one that the target
// reads, nil if there is none.
func (s *Session) VisibleMessages(last *Compaction) []int {
	var visible []int
	from := 0
	if last != nil {
		visible, from = slices.Clone(last.Kept), last.Through
	}
	for i := from; i < len(s.Messages); i++ {
		visible = append(visible, i)
	}
	return visible
}

// Units groups messages that are kept or left out together, and returns their indices.
// indices selects the messages, in ascending order. A group is a reply and the results
// of its calls, a reply and what the model went on with after a pause, all replies and
// results of an answer in which the model thought, or one other message. A border
// inside a group would part a call from its result, or thinking from the answer that it
// belongs to.
func Units(messages []transcript.Message, indices []int) [][]int {
	var units [][]int
	for i, index := range indices {
		if n := len(units); n > 0 && isInUnit(messages, &messages[index], indices[:i]) {
			units[n-1] = append(units[n-1], index)
			continue
		}
		units = append(units, []int{index})
	}
	return units
}

// isInUnit reports whether m belongs to the group of the messages before it: results
// do, and a reply does if the one before it paused or if the model thought in the answer
// that it goes on with.
func isInUnit(messages []transcript.Message, m *transcript.Message, before []int) bool {
	switch m.Role {
	case transcript.RoleToolResults:
		return true
	case transcript.RoleAssistant: // below
	default:
		return false
	}
	if n := len(before); n > 0 && messages[before[n-1]].StopReason == transcript.StopPauseTurn {
		return true
	}
	thinks := m.HasReasoning()
	for _, i := range slices.Backward(before) {
		switch messages[i].Role {
		case transcript.RoleAssistant:
			thinks = thinks || messages[i].HasReasoning()
			if thinks {
				return true
			}
		case transcript.RoleToolResults: // the answer goes on
		default:
			return false
		}
	}
	return false
}
