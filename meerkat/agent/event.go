package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// EventType names an Event; it is the value of the JSON member type.
type EventType string

// The events of a run, in the order of one turn. run_started is the first of a
// run; run_completed, run_failed or run_interrupted is the last.
const (
	RunStarted             EventType = "run_started"
	Degraded               EventType = "degraded" // the provider does not get something
	BudgetWarning          EventType = "budget_warning"
	CompactionStarted      EventType = "compaction_started"
	CompactionCompleted    EventType = "compaction_completed" // or failed: see Error
	TurnStarted            EventType = "turn_started"
	BlockStarted           EventType = "block_started"
	TextDelta              EventType = "text_delta"
	ReasoningDelta         EventType = "reasoning_delta"
	ToolCallDelta          EventType = "tool_call_delta"
	BlockCompleted         EventType = "block_completed"
	AssemblyAnomaly        EventType = "assembly_anomaly"
	StreamReset            EventType = "stream_reset" // what this attempt showed is void
	Retrying               EventType = "retrying"
	TextComplete           EventType = "text_complete"
	ToolCallRequested      EventType = "tool_call_requested"
	TurnCompleted          EventType = "turn_completed"
	CheckpointSaved        EventType = "checkpoint_saved"
	ToolExecutionStarted   EventType = "tool_execution_started"
	ToolProgress           EventType = "tool_progress"
	ToolExecutionCompleted EventType = "tool_execution_completed"
	ToolExecutionTimedOut  EventType = "tool_execution_timed_out"
	ToolResultReceived     EventType = "tool_result_received"
	StreamTruncated        EventType = "stream_truncated" // the listener was too slow for some deltas
	OperationStarted       EventType = "operation_started"
	OperationProgress      EventType = "operation_progress"
	OperationEnded         EventType = "operation_ended"     // Status says how
	OperationDelivered     EventType = "operation_delivered" // the model gets the result
	SteeringApplied        EventType = "steering_applied"
	RunCompleted           EventType = "run_completed"
	RunFailed              EventType = "run_failed"
	RunInterrupted         EventType = "run_interrupted" // by the user
)

// Droppable reports whether a listener that is too slow may miss events of this
// type: deltas, whose text comes again with the block, and progress. Block, tool
// and terminal events are never dropped.
func (t EventType) Droppable() bool {
	switch t {
	case TextDelta, ReasoningDelta, ToolCallDelta, ToolProgress, OperationProgress:
		return true
	default:
		return false
	}
}

// Terminal reports whether t ends a run.
func (t EventType) Terminal() bool {
	return t == RunCompleted || t == RunFailed || t == RunInterrupted
}

// Event is one step of a run as it happens. Type says which fields count below
// the first group, which every event has.
type Event struct {
	Type      EventType  `json:"type"`
	SessionID session.ID `json:"session_id"`
	RunID     string     `json:"run_id"`
	Seq       int        `json:"seq"` // of the run, from 0, without gaps
	TS        time.Time  `json:"ts"`
	// Turn counts the model calls of this run from 1, Attempt the tries of one; a
	// compaction has tries of its own and no turn. TurnID names both the run and
	// the turn. Absent before the first turn.
	Turn    int    `json:"turn,omitempty"`
	TurnID  string `json:"turn_id,omitempty"`
	Attempt int    `json:"attempt,omitempty"`

	// ParentID is the session that started the sub-agent whose event this is, absent for
	// the agent that a user started. OperationID is the sub-agent itself, or in events
	// about operations the one that they are about.
	ParentID    session.ID `json:"parent_id,omitempty"`
	OperationID session.ID `json:"operation_id,omitempty"`

	Prompt string `json:"prompt,omitempty"`
	// TraceParent and TraceState are the trace context that a run belongs to.
	TraceParent string            `json:"traceparent,omitempty"`
	TraceState  string            `json:"tracestate,omitempty"`
	Index       *int              `json:"index,omitempty"` // of the block in its message
	Delta       string            `json:"delta,omitempty"`
	Content     string            `json:"content,omitempty"`
	Block       *transcript.Block `json:"block,omitempty"`

	// Of tools. Result is in tool_execution_completed or _timed_out, once;
	// tool_result_received repeats it only for a call that was never executed.
	// Size is its length in bytes.
	ID         string             `json:"id,omitempty"`
	Name       string             `json:"name,omitempty"`
	Args       transcript.RawJSON `json:"args,omitempty"`
	IsError    *bool              `json:"is_error,omitempty"`
	Status     string             `json:"status,omitempty"` // of a call, as the ledger has it
	Size       *int               `json:"size,omitempty"`
	DurationMS *int64             `json:"duration_ms,omitempty"`
	TimeoutMS  *int64             `json:"timeout_ms,omitempty"`
	Progress   *float64           `json:"progress,omitempty"`
	Total      *float64           `json:"total,omitempty"`
	Message    string             `json:"message,omitempty"`

	// Of model calls: who was asked, with which result, and what the limits leave.
	Provider   string                `json:"provider,omitempty"`
	Model      string                `json:"model,omitempty"`
	ResponseID string                `json:"response_id,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason,omitempty"`
	Usage      *transcript.Usage     `json:"usage,omitempty"`
	RateLimits []stream.RateLimit    `json:"rate_limits,omitempty"`

	Reason      string               `json:"reason,omitempty"`       // of a checkpoint, a compaction
	BytesBefore int                  `json:"bytes_before,omitempty"` // of the next request without a compaction
	BytesAfter  int                  `json:"bytes_after,omitempty"`  // and with it
	Rule        string               `json:"rule,omitempty"`         // of an anomaly
	MaxAttempts int                  `json:"max_attempts,omitempty"`
	DelayMS     *int64               `json:"delay_ms,omitempty"`
	BudgetType  session.BudgetKind   `json:"budget_type,omitempty"`
	Used        uint64               `json:"used,omitempty"`
	Limit       uint64               `json:"limit,omitempty"`
	Percent     float64              `json:"percent,omitempty"` // of Limit, from 0 to 100
	Degradation *handoff.Degradation `json:"degradation,omitempty"`
	Dropped     int                  `json:"dropped,omitempty"` // deltas
	Result      string               `json:"result,omitempty"`
	Error       string               `json:"error,omitempty"`
	ErrorKind   string               `json:"error_kind,omitempty"`
}

// fromStream translates what a provider sends. ok is false for events that the
// run reports itself.
func fromStream(e stream.Event) (out Event, ok bool) {
	out.Index, out.Delta = &e.Index, string(e.Delta)
	switch e.Kind {
	case stream.EventBlockStart:
		out.Type = BlockStarted
		if e.Block != nil {
			block := transcript.Block{Type: e.Block.Type, ID: e.Block.ID, Name: e.Block.Name, Kind: e.Block.Kind}
			out.Block = &block
		}
	case stream.EventTextDelta:
		out.Type = TextDelta
	case stream.EventReasoningDelta:
		out.Type = ReasoningDelta
	case stream.EventToolCallDelta:
		out.Type = ToolCallDelta
	case stream.EventBlockComplete:
		block := *e.Block
		out.Type, out.Block = BlockCompleted, &block
	case stream.EventAnomaly:
		return Event{Type: AssemblyAnomaly, Rule: e.Anomaly.Rule, Error: e.Anomaly.Detail}, true
	default:
		return Event{}, false
	}
	return out, true
}
