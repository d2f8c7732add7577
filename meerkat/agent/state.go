package agent

import (
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// state is where a run stands. It is a value: step never changes the one it is
// given.
type state struct {
	settings settings
	session  session.Session
	runID    string
	beganAt  time.Time

	turns         int                   // calls made by this run
	callsAnswered int                   // those of them that were answered
	degraded      []handoff.Degradation // reported by this run
	pauses        int                   // pause_turn replies in a row
	toolCalls     int                   // tool calls answered by this run
	usage         transcript.Usage
	mayForceTool  bool // the prompt of this run has led to no tool call yet
	stopReason    transcript.StopReason
	text          string // visible text of the last answer

	limits          session.Limits // of the session, in force
	spentEarlier    session.Spent  // by earlier runs; Elapsed unused
	tokensUsed      uint64         // of all kinds, by this run
	toolsStarted    int            // tool calls that were started by this run
	toolsOverBudget int            // tool calls that the budget had no room for
	warnedKinds     []session.BudgetKind

	chain                digestChain
	target               handoff.Target
	reportedDegradations map[handoff.Degradation]bool // degradations that were reported
	current              currentCall                  // the call under way
	batch                toolBatch                    // the tools under way
	// pending is what is said once the tools of an earlier run are answered.
	pending *runOpening
	// compactReason says why a compaction is under way, "" when none is.
	// truncatedHistory is set when its request carries a part of the conversation.
	// overflow is the failure that caused it, if the provider found the request too long.
	// compactionFailed keeps this run from trying another one. compactionIgnored is set
	// when the provider was asked to compact and did not, windowFailed when it returned no
	// window.
	compactReason    string
	truncatedHistory bool
	overflow         *failureInput
	compactionFailed bool

	compactionIgnored bool
	windowFailed      bool
	phase             phase

	newsSeen bool // the next call carries what is new of operations
	answered bool // the model has ended its turn, and the run waits for operations
}

// phase is what the run waits for; it decides which inputs make sense.
type phase int

const (
	phaseNew phase = iota
	phaseCalling
	phaseWaiting // for the next attempt
	phaseTools
	phaseNews          // for the news before a call
	phaseWaitingForOps // for operations to end
	phaseDone
)

// settings are what a run was asked to do.
type settings struct {
	prefix            session.Prefix // At and Hash unset
	maxOutputTokens   int
	maxTurns          int
	temperature       *float64
	stopSequences     []string
	maxPromptBytes    int
	metadata          map[string]string
	unary             bool
	outputSchema      transcript.RawJSON
	cacheTTL          string
	toolChoice        string
	attachments       []transcript.Part // to the prompt
	account           string
	api               string
	annotations       []session.Annotation
	limits            session.Limits
	warnAt            float64
	retry             provider.RetryPolicy
	interruptedPolicy Policy
	compaction        Compaction
	idempotent        func(name string) bool
	lookup            func(model string) (catalog.Entry, error) // nil: the catalogue
	render            func(*provider.Request) ([]byte, error)   // nil: the client cannot
	compactOnly       bool                                      // the run is a compaction and nothing else
	operations        bool                                      // the agent may have operations
	steered           bool                                      // directives may come from Config.Steering
}

// digestChain is the Digest of the first n messages of the session.
type digestChain struct {
	n    int
	hash string
}

// currentCall is the call under way: what it carries, how often it was tried, and what
// of the conversation it could not carry.
type currentCall struct {
	request  provider.Request
	messages int
	hash     string
	attempt  int
	repairs  int // how often it was changed after a refusal
	degraded []handoff.Degradation
}

// toolBatch is the calls of one reply and what is known of them.
type toolBatch struct {
	message int // index of the reply
	calls   []transcript.ToolCall
	answers []toolAnswer
}

// toolAnswer is what became of one call.
type toolAnswer struct {
	known     bool
	status    string    // a tool.Status, or refused
	started   bool      // the tool was started
	startedAt time.Time // when
	result    transcript.ToolResult
	// operations are those whose results result holds and no record says so yet.
	operations []ops.OpResult
}

// withAnswer returns b with the answer at i replaced; b stays as it is.
func (b toolBatch) withAnswer(i int, a toolAnswer) toolBatch {
	b.answers = slices.Clone(b.answers)
	b.answers[i] = a
	return b
}

func (b *toolBatch) indexOfCall(id string) int {
	return slices.IndexFunc(b.calls, func(c transcript.ToolCall) bool { return c.ID == id })
}

// openCount counts the calls without an answer.
func (b *toolBatch) openCount() int {
	n := 0
	for _, a := range b.answers {
		if !a.known {
			n++
		}
	}
	return n
}

// runOpening is what a run begins with: what changed since the session was last
// sent, and the prompt.
type runOpening struct {
	prompt  string
	changes *settingsChange
}

// runResult is what the run has come to so far.
func (s *state) runResult() Result {
	return Result{
		SessionID: s.session.ID, RunID: s.runID, Text: s.text, StopReason: s.stopReason, Usage: s.usage,
		Turns: s.turns, ToolCalls: s.toolCalls, Degraded: s.degraded,
	}
}

// visibleText is the text since the last message that is not the model's own: a
// reply that paused is one answer in several messages.
func visibleText(messages []transcript.Message) string {
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
