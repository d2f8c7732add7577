package agent

import (
	"slices"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// next is what follows a reply.
type next int

const (
	nextFinish next = iota
	nextTools
	nextCall
)

// verdict says what becomes of a reply.
type verdict struct {
	keep bool // it becomes part of the conversation
	next next
	err  error  // how the run ends, nil for well
	why  string // why its tool calls are not executed
}

// judge decides by stop reason (DESIGN §3.13, regressions.md R30 and R31).
// Whatever is not known to be good is an error, and a reply that is none is
// not kept. A message without blocks cannot be sent on any wire (R9), so it is
// not kept either.
func judge(m *transcript.Message) verdict {
	v := byStop(m)
	if repeatsID(m) {
		v = verdict{err: &StopError{Stop: m.StopReason, Detail: "two tool calls have the same id"}}
	}
	v.keep = v.keep && len(m.Blocks) > 0
	return v
}

func byStop(m *transcript.Message) verdict {
	switch m.StopReason {
	case transcript.StopEndTurn, transcript.StopStopSequence:
		if m.HasToolCalls() {
			return verdict{keep: true, next: nextTools}
		}
		return verdict{keep: true}
	case transcript.StopToolUse:
		if m.HasToolCalls() {
			return verdict{keep: true, next: nextTools}
		}
		return verdict{err: &StopError{Stop: m.StopReason, Detail: "the model stopped for tools but called none"}}
	case transcript.StopPauseTurn:
		if m.HasToolCalls() {
			return verdict{keep: true, next: nextTools}
		}
		return verdict{keep: true, next: nextCall}
	case transcript.StopMaxTokens, transcript.StopContextWindow:
		return verdict{keep: true, err: &TruncatedError{Stop: m.StopReason}, why: cutOff}
	case transcript.StopRefusal, transcript.StopContentFilter:
		return verdict{keep: true, err: &RefusedError{Stop: m.StopReason}, why: filtered}
	default:
		return verdict{err: &StopError{Stop: m.StopReason, Detail: "the reply is not usable and was discarded"}}
	}
}

const (
	cutOff   = "the reply was cut off before it was complete"
	filtered = "the reply was refused or filtered"
)

// repeatsID reports whether two calls of m could not be told apart.
func repeatsID(m *transcript.Message) bool {
	seen := map[string]bool{}
	for c := range m.ToolCalls() {
		if seen[c.ID] {
			return true
		}
		seen[c.ID] = true
	}
	return false
}

// dangling returns results for the calls at the end of messages that have none.
// A run that ended between two checkpoints leaves them; whether their tools ran
// nobody knows, unless the reply was one whose calls are never executed.
func dangling(messages []transcript.Message) []transcript.ToolResult {
	last := len(messages) - 1
	done := map[string]bool{}
	for ; last >= 0 && messages[last].Role == transcript.RoleToolResults; last-- {
		for _, r := range messages[last].Results {
			done[r.ToolUseID] = true
		}
	}
	if last < 0 {
		return nil
	}
	open := slices.DeleteFunc(slices.Collect(messages[last].ToolCalls()), func(c transcript.ToolCall) bool { return done[c.ID] })
	if v := byStop(&messages[last]); v.why != "" {
		return refuse(open, v.why)
	}
	var results []transcript.ToolResult
	for _, c := range open {
		results = append(results, tool.Interrupted(c.ID))
	}
	return results
}

// continues reports whether the model can go on after last without a new
// prompt: there is something to answer, or it paused (R35).
func continues(last *transcript.Message) bool {
	if last == nil {
		return false
	}
	switch last.Role {
	case transcript.RoleUser, transcript.RoleToolResults:
		return true
	case transcript.RoleAssistant:
		return last.StopReason == transcript.StopPauseTurn
	default: // RoleSystem asks nothing
		return false
	}
}
