package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/ops"
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
	causeUser                // the user of the agent cancelled it
	causeLate                // the deadline of the caller of the agent
	causeBudget              // the time budget
)

// input is what happened.
type input interface{ isInput() }

type (
	// beginInput starts a new session or goes on with a stored one. prompt may be
	// blank if the session can go on by itself.
	beginInput struct {
		at     time.Time
		runID  string
		prompt string
	}
	replyInput struct {
		at    time.Time
		reply stream.Reply
	}
	// failureInput is a call that returned no reply. shown is true when parts of
	// one were reported; blocks holds what can be kept of it, see partialReply. usage
	// is what the provider had counted by then, nil if it had not.
	failureInput struct {
		at     time.Time
		err    error
		cause  cause
		shown  bool
		blocks []transcript.Block
		usage  *transcript.Usage
		body   []byte  // of a request that was refused and must not be sent again
		random float64 // in [0, 1), for the wait
	}
	// waitedInput ends the wait between two attempts.
	waitedInput struct{ at time.Time }
	// toolStartInput asks to run a tool; toolResultInput reports its end;
	// toolsDoneInput ends the batch.
	toolStartInput struct {
		at time.Time
		id string
	}
	toolResultInput struct {
		at      time.Time
		id      string
		result  transcript.ToolResult
		outcome tool.Outcome
		// operations are those whose results the result holds.
		operations []ops.OpResult
	}
	toolProgressInput struct {
		call     transcript.ToolCall
		progress tool.Progress
	}
	toolsDoneInput struct {
		at    time.Time
		cause cause
		// offers holds the tools that exist now, nil if unknown.
		offers []transcript.ToolDef
	}
)

// The inputs of an agent that has operations.
type (
	// newsInput is what has happened to operations and who steers the agent. open is set
	// while the model waits for the result of an operation.
	newsInput struct {
		at         time.Time
		cause      cause
		events     []ops.OpEvent
		results    []ops.OpResult
		directives []ops.Directive
		open       bool
	}
	// operationEventsInput is what happens while a tool waits for operations.
	operationEventsInput struct{ events []ops.OpEvent }
	// submissionInput asks to record operations before they start, and to set budgets
	// aside for them; see ops.Recorder.
	submissionInput struct {
		at     time.Time
		specs  []ops.OperationSpec
		shares int
		fork   *session.ForkBudgetPolicy
	}
)

func (newsInput) isInput()            {}
func (operationEventsInput) isInput() {}
func (submissionInput) isInput()      {}

func (beginInput) isInput()        {}
func (replyInput) isInput()        {}
func (failureInput) isInput()      {}
func (waitedInput) isInput()       {}
func (toolStartInput) isInput()    {}
func (toolResultInput) isInput()   {}
func (toolsDoneInput) isInput()    {}
func (toolProgressInput) isInput() {}

// effect is what to do next, in order: any number of saves and notices, then at
// most one call, wait, dispatch or finish. While tools run there may be none.
type effect interface{ isEffect() }

type (
	saveEffect struct {
		records []session.Record
		stamp   eventStamp
	}
	eventEffect struct {
		event Event
		stamp eventStamp
	}
	callEffect struct {
		request provider.Request
		left    time.Duration // 0: no time budget
		stamp   eventStamp
	}
	waitEffect struct {
		delay time.Duration
		left  time.Duration
	}
	toolsEffect struct {
		calls []transcript.ToolCall
		left  time.Duration
	}
	finishEffect struct{ err error }
)

// The effects of an agent that has operations or is steered.
type (
	// restoreEffect takes over the operations of earlier runs.
	restoreEffect struct{ operations []ops.Restored }
	// newsEffect asks for the news that there are; awaitNewsEffect waits for some.
	newsEffect      struct{}
	awaitNewsEffect struct{ left time.Duration }
	// settleEffect says that results and directives are in the conversation.
	settleEffect struct {
		results    []ops.OperationID
		directives []string
	}
	// answerEffect answers a submission.
	answerEffect struct{ answer submissionAnswer }
)

// submissionAnswer is what was recorded, or why it could not be.
type submissionAnswer struct {
	specs []ops.OperationSpec
	err   error
}

func (restoreEffect) isEffect()   {}
func (newsEffect) isEffect()      {}
func (awaitNewsEffect) isEffect() {}
func (settleEffect) isEffect()    {}
func (answerEffect) isEffect()    {}

// eventStamp is the turn and attempt that an event belongs to.
type eventStamp struct{ turn, attempt int }

func (saveEffect) isEffect()   {}
func (eventEffect) isEffect()  {}
func (callEffect) isEffect()   {}
func (waitEffect) isEffect()   {}
func (toolsEffect) isEffect()  {}
func (finishEffect) isEffect() {}
