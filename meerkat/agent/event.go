package agent

import (
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// EventType names an Event; it is the JSON tag type of seed 001 §5.
type EventType string

// The events of a run, in the order of one turn. run_started is the first of a
// run; run_completed or run_failed is the last.
const (
	RunStarted             EventType = "run_started"
	TurnStarted            EventType = "turn_started"
	TextDelta              EventType = "text_delta"
	ReasoningDelta         EventType = "reasoning_delta"
	ToolCallDelta          EventType = "tool_call_delta"
	BlockCompleted         EventType = "block_completed"
	AssemblyAnomaly        EventType = "assembly_anomaly"
	TextComplete           EventType = "text_complete"
	ToolCallRequested      EventType = "tool_call_requested"
	TurnCompleted          EventType = "turn_completed"
	CheckpointSaved        EventType = "checkpoint_saved"
	ToolExecutionStarted   EventType = "tool_execution_started"
	ToolExecutionCompleted EventType = "tool_execution_completed"
	ToolResultReceived     EventType = "tool_result_received"
	RunCompleted           EventType = "run_completed"
	RunFailed              EventType = "run_failed"
)

// Event is one step of a run as it happens. Type says which fields count. Only
// text_delta, reasoning_delta and tool_call_delta may ever be dropped by who
// passes events on.
type Event struct {
	Type      EventType  `json:"type"`
	SessionID session.ID `json:"session_id"`
	Seq       int        `json:"seq"`            // from 0, without gaps
	Turn      int        `json:"turn,omitempty"` // of this run, from 1

	Prompt     string                `json:"prompt,omitempty"`
	Index      *int                  `json:"index,omitempty"` // of the block in its message
	Delta      string                `json:"delta,omitempty"`
	Content    string                `json:"content,omitempty"`
	Block      *transcript.Block     `json:"block,omitempty"`
	ID         string                `json:"id,omitempty"`
	Name       string                `json:"name,omitempty"`
	Args       transcript.RawJSON    `json:"args,omitempty"`
	IsError    *bool                 `json:"is_error,omitempty"`
	DurationMS *int64                `json:"duration_ms,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason,omitempty"`
	Usage      *transcript.Usage     `json:"usage,omitempty"`
	Reason     session.Reason        `json:"reason,omitempty"` // of a checkpoint
	Rule       string                `json:"rule,omitempty"`   // of an anomaly
	Result     string                `json:"result,omitempty"`
	Error      string                `json:"error,omitempty"`
}

// fromStream translates what a provider sends. ok is false for events that the
// run reports itself.
func fromStream(e stream.Event) (out Event, ok bool) {
	out.Index, out.Delta = &e.Index, string(e.Delta)
	switch e.Kind {
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
