package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// state is where a run stands. It is a value: step never changes the one it is
// given.
type state struct {
	settings settings
	session  session.Session
	turns    int // calls made by this run
	pauses   int // pause_turn replies in a row
	tools    int // tool calls answered by this run
	usage    transcript.Usage
	stop     transcript.StopReason
	text     string // visible text of the last answer
	sent     sent   // the call under way
}

// settings are what a run was asked to do.
type settings struct {
	prefix          session.Prefix // At and Hash unset
	maxOutputTokens int
	maxTurns        int
	temperature     *float64
	unary           bool
	account         string
	marks           []session.Mark
}

// sent is what the call under way carries.
type sent struct {
	messages int
	hash     string
}

// input is what happened: begin, replied, answered or failed.
type input interface{ isInput() }

type (
	// begin starts a new session or goes on with a stored one. prompt may be
	// blank if the session can go on by itself.
	begin struct {
		at     time.Time
		prompt string
	}
	replied struct {
		at    time.Time
		reply stream.Reply
	}
	answered struct {
		at      time.Time
		results []transcript.ToolResult
	}
	failed struct{ err error }
)

func (begin) isInput()    {}
func (replied) isInput()  {}
func (answered) isInput() {}
func (failed) isInput()   {}

// effect is what to do next: any number of saves, then one call, dispatch or
// finish.
type effect interface{ isEffect() }

type (
	save     struct{ records []session.Record }
	call     struct{ request provider.Request }
	dispatch struct{ calls []transcript.ToolCall }
	finish   struct{ err error }
)

func (save) isEffect()     {}
func (call) isEffect()     {}
func (dispatch) isEffect() {}
func (finish) isEffect()   {}

// result is what the run has come to so far.
func (s *state) result() Result {
	return Result{SessionID: s.session.ID, Text: s.text, StopReason: s.stop, Usage: s.usage, Turns: s.turns, ToolCalls: s.tools}
}

// answer is the visible text since the last message that is not the model's
// own: a reply that paused is one answer in several messages.
func answer(messages []transcript.Message) string {
	first := len(messages)
	for first > 0 && messages[first-1].Role == transcript.RoleAssistant {
		first--
	}
	text := ""
	for i := range messages[first:] {
		text += messages[first+i].String()
	}
	return text
}
