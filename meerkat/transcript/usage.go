package transcript

// StopReason says how a turn ended.
type StopReason string

// The stop reasons. A reason of a provider that fits none of them is an error of
// the parser, never end_turn.
const (
	StopEndTurn         StopReason = "end_turn"
	StopToolUse         StopReason = "tool_use"
	StopMaxTokens       StopReason = "max_tokens"
	StopStopSequence    StopReason = "stop_sequence"
	StopContentFilter   StopReason = "content_filter"
	StopCancelled       StopReason = "cancelled"
	StopAborted         StopReason = "aborted"
	StopPauseTurn       StopReason = "pause_turn"
	StopRefusal         StopReason = "refusal"
	StopContextWindow   StopReason = "context_window_exceeded"
	StopCompaction      StopReason = "compaction"
	StopMalformedCall   StopReason = "malformed_function_call"
	StopUnexpectedCall  StopReason = "unexpected_tool_call"
	StopTooManyCalls    StopReason = "too_many_tool_calls"
	StopMissingThought  StopReason = "missing_thought_signature"
	StopMalformedAnswer StopReason = "malformed_response"
)

// Usage counts the tokens of one call or, added up, of a session. Nil counts
// mean the provider did not say.
type Usage struct {
	InputTokens         uint64  `json:"input_tokens"`
	OutputTokens        uint64  `json:"output_tokens"`
	CacheCreationTokens *uint64 `json:"cache_creation_tokens,omitempty"`
	CacheReadTokens     *uint64 `json:"cache_read_tokens,omitempty"`
	// ReasoningTokens is the part of OutputTokens that went into reasoning.
	ReasoningTokens *uint64 `json:"reasoning_tokens,omitempty"`
}

// Total returns input plus output tokens.
func (u Usage) Total() uint64 { return u.InputTokens + u.OutputTokens }

// Add accumulates the usage of another call into u. Within one call provider
// totals overwrite; only calls are added.
func (u *Usage) Add(other Usage) {
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
	addCount(&u.CacheCreationTokens, other.CacheCreationTokens)
	addCount(&u.CacheReadTokens, other.CacheReadTokens)
	addCount(&u.ReasoningTokens, other.ReasoningTokens)
}

func addCount(sum **uint64, n *uint64) {
	if n == nil {
		return
	}
	total := *n
	if *sum != nil {
		total += **sum
	}
	*sum = &total
}
