package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// cause says why a call or the tools of a turn ended early.
type cause int

const (
	causeNone   cause = iota // they did not, or failed by themselves
	causeUser                // whoever runs the agent cancelled it
	causeLate                // the deadline of whoever runs the agent
	causeBudget              // the time budget
)

// input is what happened.
type input interface{ isInput() }

type (
	// begin starts a new session or goes on with a stored one. prompt may be
	// blank if the session can go on by itself.
	begin struct {
		at     time.Time
		runID  string
		prompt string
	}
	replied struct {
		at    time.Time
		reply stream.Reply
	}
	// failed is a call without a reply. shown says that parts of one were
	// reported, blocks are what can be kept of it (arrived).
	failed struct {
		at     time.Time
		err    error
		cause  cause
		shown  bool
		blocks []transcript.Block
		random float64 // in [0, 1), for the wait
	}
	// waited ends the wait between two attempts.
	waited struct{ at time.Time }
	// starting asks to run a tool; settled says what became of it; answered ends
	// the batch.
	starting struct {
		at time.Time
		id string
	}
	settled struct {
		at      time.Time
		id      string
		result  transcript.ToolResult
		outcome tool.Outcome
	}
	progressed struct {
		call     transcript.ToolCall
		progress tool.Progress
	}
	answered struct {
		at    time.Time
		cause cause
		// offers is which tools there are now, nil if nobody says.
		offers []transcript.ToolDef
	}
)

func (begin) isInput()      {}
func (replied) isInput()    {}
func (failed) isInput()     {}
func (waited) isInput()     {}
func (starting) isInput()   {}
func (settled) isInput()    {}
func (answered) isInput()   {}
func (progressed) isInput() {}

// effect is what to do next, in order: any number of saves and notices, then at
// most one call, wait, dispatch or finish. While tools run there may be none.
type effect interface{ isEffect() }

type (
	save struct {
		records []session.Record
		stamp   stamp
	}
	notice struct {
		event Event
		stamp stamp
	}
	call struct {
		request provider.Request
		left    time.Duration // 0: no time budget
		stamp   stamp
	}
	wait struct {
		delay time.Duration
		left  time.Duration
	}
	dispatch struct {
		calls []transcript.ToolCall
		left  time.Duration
	}
	finish struct{ err error }
)

// stamp is the turn and attempt that an event belongs to.
type stamp struct{ turn, attempt int }

func (save) isEffect()     {}
func (notice) isEffect()   {}
func (call) isEffect()     {}
func (wait) isEffect()     {}
func (dispatch) isEffect() {}
func (finish) isEffect()   {}
