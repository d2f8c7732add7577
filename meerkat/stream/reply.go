package stream

import (
	"fmt"
	"io"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Parser turns the bytes of one provider reply into ordered blocks. Each
// provider package has one for its streams. A Parser is used by one goroutine.
//
// Write never keeps p. The blocks do not depend on how the bytes were split
// over calls of Write.
type Parser interface {
	io.Writer
	// Close ends the reply and returns what it said. The Reply is filled as far
	// as the bytes went even when the error is not nil:
	// *IncompleteError when the provider's terminal event never came or blocks
	// were still open, *ProviderError when the provider reported a failure
	// inside the stream, *AnomalyError in strict mode.
	Close() (Reply, error)
}

// Options tune a Parser. The zero value is strict and silent.
type Options struct {
	// Lenient makes anomalies events instead of errors.
	Lenient bool
	// OnEvent receives normalised events while the reply arrives. Nil: none.
	// The Event and its bytes are valid only during the call.
	OnEvent func(Event)
	// OnFrame is called for each event as it is on the wire, before it is read. An
	// error ends the reply. Nil: none.
	OnFrame func() error
	// Origin is set on every block, with Index and ResponseID filled in.
	// Nil: blocks carry no origin.
	Origin *transcript.Origin
	// IDSeed is mixed into the ids that a parser makes up for calls without
	// one. Give something unique to the request, such as a digest of its body:
	// a reply without an id of its own has nothing else that is.
	IDSeed string
	// MaxLine bounds one event, and each line of it, in bytes. Zero means
	// defaultMaxLine.
	MaxLine int
}

// Reply is one assembled provider reply.
type Reply struct {
	// Message is the assistant message: blocks in start order, stop reason.
	Message transcript.Message
	Usage   transcript.Usage
	// UsageKnown is false when the provider sent no usage; that never fails a
	// turn.
	UsageKnown bool
	ResponseID string
	Model      string
	// Account is that of the blocks' origin, with the organization that the headers
	// name; a parser of a body alone leaves it empty.
	Account string
	// RateLimits is what the provider says is left; nil when it did not. It
	// comes with the headers, so a parser of a body alone has none.
	RateLimits []RateLimit
	// Anomalies lists what lenient mode let pass, and in either mode what is
	// marked Harmless, in order.
	Anomalies []Anomaly
}

// EventKind names a normalised event.
type EventKind uint8

// The normalised events. Deltas may be dropped by a slow consumer; block and
// terminal events may not.
const (
	EventBlockStart EventKind = iota + 1
	EventTextDelta
	EventReasoningDelta
	EventToolCallDelta
	EventBlockComplete
	EventUsage
	EventAnomaly
	EventDone
)

var eventNames = [...]string{
	EventBlockStart: "block_start", EventTextDelta: "text_delta", EventReasoningDelta: "reasoning_delta",
	EventToolCallDelta: "tool_call_delta", EventBlockComplete: "block_complete", EventUsage: "usage",
	EventAnomaly: "assembly_anomaly", EventDone: "done",
}

// String returns the name of k, such as text_delta.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return fmt.Sprintf("event_kind_%d", uint8(k))
}

// Event is one normalised event. Kind says which fields count: Index is the
// block's ordinal in start order for block events and deltas.
type Event struct {
	Kind    EventKind
	Index   int
	Delta   []byte
	Block   *transcript.Block // BlockStart (type, id, name so far), BlockComplete
	Usage   transcript.Usage
	Anomaly Anomaly
	Stop    transcript.StopReason
}

// Anomaly is one departure from the provider's stream grammar. Rule is a short
// stable name such as unterminated_event or orphaned_delta.
type Anomaly struct {
	Rule   string
	Detail string
	// Event is the ordinal of the wire event, from 0, and Offset the byte
	// offset in the reply where it began.
	Event  int
	Offset int64
	// Harmless marks what cost nothing, such as an unknown event, or is the
	// model's fault and not the stream's, such as arguments that are not JSON.
	// Strict mode lets it pass.
	Harmless bool
}

// String returns "rule: detail".
func (a Anomaly) String() string { return a.Rule + ": " + a.Detail }

// AnomalyError is an Anomaly that strict mode refused.
type AnomalyError struct{ Anomaly Anomaly }

// Error names the rule, the place and the detail.
func (e *AnomalyError) Error() string {
	return fmt.Sprintf("stream: %s at event %d, byte %d", e.Anomaly, e.Anomaly.Event, e.Anomaly.Offset)
}

// IncompleteError says that a reply ended before the provider said so. The
// turn must be discarded or retried, never stored as a success.
type IncompleteError struct {
	Reason  string
	Pending int // blocks that were still open
	// Err is the *AnomalyError of an unterminated last event in strict mode,
	// else nil.
	Err error
}

// Unwrap returns e.Err.
func (e *IncompleteError) Unwrap() error { return e.Err }

// Error says what was missing.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("stream: incomplete reply: %s (%d blocks open); retry the turn", e.Reason, e.Pending)
}

// ProviderError is a failure that the provider reported inside a reply with
// status 200.
type ProviderError struct {
	Type    string
	Code    string
	Message string
	Raw     []byte
}

// Error returns the provider's own words.
func (e *ProviderError) Error() string {
	return fmt.Sprintf("stream: provider reported %s: %s", firstOf(e.Type, e.Code, "an error"), e.Message)
}

func firstOf(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}
