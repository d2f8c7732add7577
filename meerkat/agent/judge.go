package agent

import "github.com/meerkat-go/conformance/meerkat/transcript"

// nextAction is what follows a reply.
type nextAction int

const (
	nextFinish nextAction = iota
	nextTools
	nextCall
)

// verdict is the decision about a reply.
type verdict struct {
	keep   bool // it becomes part of the conversation
	action nextAction
	err    error  // how the run ends, nil for well
	why    string // why its tool calls are not executed
}

// judgeReply decides by stop reason what to do with a reply. A stop reason that
// is not known to be good is an error, and the reply is discarded. So is a reply
// without blocks, because no provider accepts one in a request.
func judgeReply(m *transcript.Message) verdict {
	v := verdictByStopReason(m)
	if hasRepeatedCallID(m) {
		v = verdict{err: &StopError{Stop: m.StopReason, Detail: "two tool calls have the same id"}}
	}
	v.keep = v.keep && len(m.Blocks) > 0
	return v
}

func verdictByStopReason(m *transcript.Message) verdict {
	switch m.StopReason {
	case transcript.StopEndTurn, transcript.StopStopSequence:
		if m.HasToolCalls() {
			return verdict{keep: true, action: nextTools}
		}
		return verdict{keep: true}
	case transcript.StopToolUse:
		if m.HasToolCalls() {
			return verdict{keep: true, action: nextTools}
		}
		return verdict{err: &StopError{Stop: m.StopReason, Detail: "the model stopped for tools but called none"}}
	case transcript.StopPauseTurn:
		if m.HasToolCalls() {
			return verdict{keep: true, action: nextTools}
		}
		return verdict{keep: true, action: nextCall}
	case transcript.StopMaxTokens, transcript.StopContextWindow:
		return verdict{keep: true, err: &TruncatedError{Stop: m.StopReason}, why: cutOff}
	case transcript.StopRefusal, transcript.StopContentFilter:
		return verdict{keep: true, err: &RefusedError{Stop: m.StopReason}, why: filtered}
	case transcript.StopAborted, transcript.StopCancelled:
		// No provider says so: it is what an interruption left of a reply.
		return verdict{err: &StopError{Stop: m.StopReason, Detail: unusable}, why: brokenOff}
	default:
		return verdict{err: &StopError{Stop: m.StopReason, Detail: unusable}}
	}
}

const unusable = "the reply is not usable and was discarded"

const (
	brokenOff = "the reply was interrupted"
	cutOff    = "the reply was cut off before it was complete"
	filtered  = "the reply was refused or filtered"
)

// hasRepeatedCallID reports whether two calls of m could not be told apart.
func hasRepeatedCallID(m *transcript.Message) bool {
	seen := map[string]bool{}
	for c := range m.ToolCalls() {
		if seen[c.ID] {
			return true
		}
		seen[c.ID] = true
	}
	return false
}
