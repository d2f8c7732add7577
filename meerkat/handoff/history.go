package handoff

import (
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// History is what happened so far, as a session holds it.
type History struct {
	Messages []transcript.Message
	// Ledger knows the calls by the index of their message in Messages. An
	// empty one knows nothing: an open call may then have run.
	Ledger transcript.Ledger
	// Compactions are in the order they were made; the last one that the target reads
	// counts.
	Compactions []Compaction
	// Repairs are what providers have refused so far.
	Repairs []Repair
}

// Compaction says that the messages before Through are represented by Summary
// and, verbatim, by those whose indices Kept lists in ascending order. The
// summary goes out as it stands, as a message of the user.
type Compaction struct {
	Through int    `json:"through"`
	Summary string `json:"summary"`
	Kept    []int  `json:"kept,omitempty"`
	// Made is how many messages there were when it was made: thinking of these is
	// bound to a conversation that is not sent any more.
	Made int `json:"made"`
	// Window, if not nil, is what the provider made of the messages before Through. It
	// takes their place where its blocks are read; elsewhere the compaction before this
	// one counts. Summary and Kept are then empty.
	Window *transcript.Message `json:"window,omitempty"`
}

// Transcript is what the target gets: messages whose calls and results are
// complete pairs, and what was lost on the way.
type Transcript struct {
	Messages []transcript.Message
	Degraded []Degradation
	// ThinkingOff is true while a tool loop is open that the target's thinking
	// did not begin: a model with a thinking budget would refuse it, so thinking
	// stays off until the loop is closed.
	ThinkingOff bool
}

// Degradation says what the target does not get of one thing in the history
// and by which rule. Every loss has one.
type Degradation struct {
	Rule string `json:"rule"` // the name of a [Rule]
	// Message is the index in History.Messages, -1 if it concerns none.
	Message int `json:"message"`
	// Block is the index of the block, or of the result or part, in that
	// message; -1 if it concerns the whole message.
	Block  int    `json:"block"`
	CallID string `json:"call_id,omitempty"`
	Reason string `json:"reason"`
}
