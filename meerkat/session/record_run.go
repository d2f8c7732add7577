package session

import (
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Run opens each run and each resume of a session. The last record of a run ends
// it, so its duration is known even if it was killed, see Session.Elapsed.
type Run struct {
	At time.Time `json:"at"`
	ID string    `json:"run_id"`
}

// Tool records the state of one tool call in the ledger. Running must be durable
// before the tool starts. An end carries its Result while other calls of the
// same reply are still open, so that a crash does not lose it. Assistant
// messages propose their calls, and tool_results messages end them, without a
// record of their own.
type Tool struct {
	At time.Time `json:"at"`
	transcript.CallRecord
	// Operations are those whose results Result brings to the model.
	Operations []ID `json:"operations,omitempty"`
}

// ErrorRecord is the error that a run ended with, free of secrets.
type ErrorRecord struct {
	At      time.Time `json:"at"`
	RunID   string    `json:"run_id,omitempty"`
	Kind    string    `json:"kind"`
	Message string    `json:"message"`
}

// RunEnd sums up a run that has ended.
type RunEnd struct {
	At         time.Time             `json:"at"`
	RunID      string                `json:"run_id,omitempty"`
	Turns      int                   `json:"turns"`
	ToolCalls  int                   `json:"tool_calls"`
	Usage      transcript.Usage      `json:"usage"`
	DurationMS int64                 `json:"duration_ms"`
	StopReason transcript.StopReason `json:"stop_reason"`
}

// Compaction says that the messages before Through are sent to the provider as
// Summary and the messages whose indices Kept lists. The messages themselves
// stay in the session. Through never falls, and Kept never lists a message that
// an earlier compaction left out.
type Compaction struct {
	At      time.Time `json:"at"`
	Through int       `json:"through"`
	Summary string    `json:"summary"`
	Kept    []int     `json:"kept,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	// Window, if not nil, is what the provider made of the messages, for itself alone;
	// see [handoff.Compaction]. Summary and Kept are then empty.
	Window *transcript.Message `json:"window,omitempty"`
	// Usage is what making the summary took, nil when nothing was paid.
	Usage *transcript.Usage `json:"usage,omitempty"`
	// Seen is how many messages there were when it was made. It follows from the
	// record's place: Session.With sets it.
	Seen int `json:"-"`
}

// Budget sets the limits that are in force from here on.
type Budget struct {
	At     time.Time `json:"at"`
	Limits Limits    `json:"limits"`
}

// withValidUTF8 returns f as it can be stored: bytes that are not UTF-8 are U+FFFD.
func (f ErrorRecord) withValidUTF8() ErrorRecord {
	f.Message = toValidUTF8(f.Message)
	return f
}

// withValidUTF8 returns r as it can be stored.
func (r Refusal) withValidUTF8() Refusal {
	r.Message = toValidUTF8(r.Message)
	return r
}

// withValidUTF8 returns c as it can be stored. The summary is sent to the
// provider, so it must be the same before and after it was stored.
func (c Compaction) withValidUTF8() Compaction {
	c.Summary, c.Reason = toValidUTF8(c.Summary), toValidUTF8(c.Reason)
	return c
}

func toValidUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
