package session

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Record is one line of a session's history: Header, Prefix, Run, Entry, Call,
// Tool, Failure, Task, Compaction, Budget, Mark, Checkpoint, Repair or, from a
// newer writer, Unknown.
type Record interface {
	kind() string
	when() time.Time
}

// Moment is a record in the order of a session: its time, its kind as in the
// file ("run", "message", "usage", "error", "task", "compaction" or "mark") and
// its index among those of its kind in the Session.
type Moment struct {
	At    time.Time
	Kind  string
	Index int
}

// Header opens a session.
type Header struct {
	Version  int       `json:"version"`
	ID       ID        `json:"id"`
	Created  time.Time `json:"created_at"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	// Forked says what the session branched off from, nil for one of its own.
	Forked *Forked `json:"forked_from,omitempty"`
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

// Entry is one message of the conversation.
type Entry struct {
	At      time.Time
	Message transcript.Message
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
	// Sent is how many messages the request carried, Hash the Digest of the
	// prefix and those messages: they may never change again (DESIGN §3.5). The
	// Digest is a chain, see Extend.
	Sent       int                   `json:"sent"`
	Hash       string                `json:"hash"`
	ResponseID string                `json:"response_id,omitempty"`
	StopReason transcript.StopReason `json:"stop_reason"`
	// Usage is nil when the provider did not say.
	Usage *transcript.Usage `json:"usage"`
	// Discarded is true when the reply was paid for but not kept.
	Discarded bool `json:"discarded,omitempty"`
	// Degraded lists what of the conversation the request could not carry.
	Degraded []handoff.Degradation `json:"degraded,omitempty"`
}

// Mark notes a fact about the session that must not be forgotten, such as
// MarkAllowUnlisted.
type Mark struct {
	At    time.Time `json:"at"`
	Name  string    `json:"name"`
	Value string    `json:"value,omitempty"`
}

// MarkAllowUnlisted says that a model outside the allowlist was let in; its
// value is the model (DESIGN §3.10).
const MarkAllowUnlisted = "allow_unlisted_model"

// Reason says why a checkpoint was taken.
type Reason string

// The three checkpoints of seed 000 §4.2, and the one that makes a prompt
// durable before the first call.
const (
	ReasonPrompt      Reason = "prompt"
	ReasonAssistant   Reason = "assistant"
	ReasonToolResults Reason = "tool_results"
	ReasonCompleted   Reason = "completed"
	ReasonForked      Reason = "forked" // the beginning of a fork is whole
)

// Checkpoint says that everything before it was complete and durable.
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

// Unknown is a record of a newer writer with the same version. Stores keep it
// because they only append.
type Unknown struct{ Kind string }

func (Header) kind() string     { return "header" }
func (Prefix) kind() string     { return "prefix" }
func (Run) kind() string        { return "run" }
func (Entry) kind() string      { return "message" }
func (Call) kind() string       { return "usage" }
func (Tool) kind() string       { return "ledger" }
func (Failure) kind() string    { return "error" }
func (Task) kind() string       { return "task" }
func (Compaction) kind() string { return "compaction" }
func (Budget) kind() string     { return "budget" }
func (Mark) kind() string       { return "mark" }
func (Checkpoint) kind() string { return "checkpoint" }
func (Repair) kind() string     { return "repair" }
func (u Unknown) kind() string  { return u.Kind }

func (h Header) when() time.Time     { return h.Created }
func (p Prefix) when() time.Time     { return p.At }
func (r Run) when() time.Time        { return r.At }
func (e Entry) when() time.Time      { return e.At }
func (c Call) when() time.Time       { return c.At }
func (t Tool) when() time.Time       { return t.At }
func (f Failure) when() time.Time    { return f.At }
func (t Task) when() time.Time       { return t.At }
func (c Compaction) when() time.Time { return c.At }
func (b Budget) when() time.Time     { return b.At }
func (m Mark) when() time.Time       { return m.At }
func (c Checkpoint) when() time.Time { return c.At }
func (r Repair) when() time.Time     { return r.At }
func (Unknown) when() time.Time      { return time.Time{} }

// Latest returns the latest time that records carry.
func Latest(records ...Record) time.Time {
	var last time.Time
	for _, r := range records {
		if at := r.when(); at.After(last) {
			last = at
		}
	}
	return last
}
