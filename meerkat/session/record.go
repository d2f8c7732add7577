package session

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Record is one line of a session's history: Header, Prefix, Run, MessageRecord,
// Call, Tool, ErrorRecord, RunEnd, Compaction, Budget, Metadata, Annotation,
// Checkpoint, Refusal, Repair, Operation or, from a newer writer, Unknown.
type Record interface {
	recordKind() string
	recordTime() time.Time
}

// TimelineItem refers to a record of a session: its time, its kind as in the
// file ("run", "message", "usage", "error", "task", "compaction" or "mark") and
// its index among those of its kind in the Session.
type TimelineItem struct {
	At    time.Time
	Kind  string
	Index int
	// Source is that of a message.
	Source Source
}

// Header opens a session.
type Header struct {
	Version  int       `json:"version"`
	ID       ID        `json:"id"`
	Created  time.Time `json:"created_at"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	// Forked is the session this one was forked from, nil if it is not a fork.
	Forked *Forked `json:"forked_from,omitempty"`
	// Parent is the session whose sub-agent this one belongs to, nil if a user started it.
	Parent *Parent `json:"parent,omitempty"`
}

// Forked names a session and how many of its messages a fork began with.
type Forked struct {
	ID       ID  `json:"id"`
	Messages int `json:"messages"`
}

// Prefix is what goes to the provider ahead of the messages, exactly as it was
// rendered. It is written before it is first sent, and again when it changes.
type Prefix struct {
	At       time.Time
	Provider string
	Model    string
	Effort   string
	System   string
	Tools    []transcript.ToolDef
	// Hash is Digest of System and Tools with no messages.
	Hash string
}

// MessageRecord is one message of the conversation.
type MessageRecord struct {
	At      time.Time
	Message transcript.Message
	// Source is who wrote a message of the user's role, if not the user.
	Source Source
	// Operations are those whose results the message brings to the model. The same
	// record stores both, so that a result is delivered once whatever is cut off.
	Operations []ID
}

// Call records one model call: what it cost and what it was sent.
type Call struct {
	At    time.Time `json:"at"`
	RunID string    `json:"run_id,omitempty"`
	Turn  int       `json:"turn"` // from 1, counted over the whole session
	// Attempt counts the tries of one turn, from 1; 0 if the writer did not.
	Attempt  int    `json:"attempt,omitempty"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Sent is how many messages the request carried. Hash is the Digest of the
	// prefix and those messages, which must never change again. The Digest is a
	// chain, see Extend.
	Sent       int                   `json:"sent"`
	Hash       string                `json:"hash"`
	ResponseID string                `json:"response_id,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason"`
	// Usage is nil when the provider did not say.
	Usage *transcript.Usage `json:"usage"`
	// Error is the kind of error that ended the call without a reply, "" if there
	// was one. Such a call is recorded if the provider had counted tokens for it.
	Error string `json:"error,omitempty"`
	// Discarded is true when the reply was paid for but not kept.
	Discarded bool `json:"discarded,omitempty"`
	// Degraded lists what of the conversation the request could not carry.
	Degraded []handoff.Degradation `json:"degraded,omitempty"`
}

// Annotation stores a fact about the session under a name, such as
// AnnotationAllowUnlisted.
type Annotation struct {
	At    time.Time `json:"at"`
	Name  string    `json:"name"`
	Value string    `json:"value,omitempty"`
}

// AnnotationAllowUnlisted says that a model outside the allowlist was allowed.
// Its value is the model.
const AnnotationAllowUnlisted = "allow_unlisted_model"

// Reason says why a checkpoint was taken.
type Reason string

// The checkpoints.
const (
	ReasonPrompt      Reason = "prompt"
	ReasonAssistant   Reason = "assistant"
	ReasonToolResults Reason = "tool_results"
	ReasonCompleted   Reason = "completed"
	ReasonForked      Reason = "forked" // the beginning of a fork is whole
)

// Checkpoint says that everything before it is complete and durable.
type Checkpoint struct {
	At     time.Time `json:"at"`
	Reason Reason    `json:"reason"`
}

// Repair says that a torn tail was cut off when the session was opened. It
// keeps what was cut.
type Repair struct {
	At      time.Time `json:"at"`
	Dropped []byte    `json:"dropped"`
}

// Refusal says that a provider refused a request for its form or for what it says. The
// same request is not sent again where Request is known.
type Refusal struct {
	At       time.Time `json:"at"`
	RunID    string    `json:"run_id,omitempty"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	// Request is the SHA-256 of the refused body in hexadecimal; "" when unknown.
	Request string `json:"request,omitempty"`
	Status  int    `json:"status"`
	// Message is the provider's own words, free of secrets.
	Message string `json:"message"`
	// TooLong is set when the request was too long for the model.
	TooLong bool `json:"too_long,omitempty"`
	// Repair is what is left out from here on, nil when nothing could be.
	Repair *handoff.Repair `json:"repair,omitempty"`
}

// Unknown is a record of a newer writer with the same version. Stores keep it
// because they only append.
type Unknown struct{ Kind string }

func (Header) recordKind() string        { return "header" }
func (Prefix) recordKind() string        { return "prefix" }
func (Run) recordKind() string           { return "run" }
func (MessageRecord) recordKind() string { return "message" }
func (Call) recordKind() string          { return "usage" }
func (Tool) recordKind() string          { return "ledger" }
func (ErrorRecord) recordKind() string   { return "error" }
func (RunEnd) recordKind() string        { return "task" }
func (Compaction) recordKind() string    { return "compaction" }
func (Budget) recordKind() string        { return "budget" }
func (Metadata) recordKind() string      { return "metadata" }
func (Annotation) recordKind() string    { return "mark" }
func (Checkpoint) recordKind() string    { return "checkpoint" }
func (Refusal) recordKind() string       { return "refusal" }
func (Repair) recordKind() string        { return "repair" }
func (Operation) recordKind() string     { return "operation" }
func (u Unknown) recordKind() string     { return u.Kind }

func (h Header) recordTime() time.Time        { return h.Created }
func (p Prefix) recordTime() time.Time        { return p.At }
func (r Run) recordTime() time.Time           { return r.At }
func (e MessageRecord) recordTime() time.Time { return e.At }
func (c Call) recordTime() time.Time          { return c.At }
func (t Tool) recordTime() time.Time          { return t.At }
func (f ErrorRecord) recordTime() time.Time   { return f.At }
func (t RunEnd) recordTime() time.Time        { return t.At }
func (c Compaction) recordTime() time.Time    { return c.At }
func (b Budget) recordTime() time.Time        { return b.At }
func (m Metadata) recordTime() time.Time      { return m.At }
func (m Annotation) recordTime() time.Time    { return m.At }
func (c Checkpoint) recordTime() time.Time    { return c.At }
func (r Refusal) recordTime() time.Time       { return r.At }
func (r Repair) recordTime() time.Time        { return r.At }
func (o Operation) recordTime() time.Time     { return o.At }
func (Unknown) recordTime() time.Time         { return time.Time{} }

// Latest returns the latest time that records carry.
func Latest(records ...Record) time.Time {
	var last time.Time
	for _, r := range records {
		if at := r.recordTime(); at.After(last) {
			last = at
		}
	}
	return last
}
