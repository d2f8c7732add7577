package agent

import (
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
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
	began    time.Time

	turns  int // calls made by this run
	calls  int // those of them that were answered
	pauses int // pause_turn replies in a row
	tools  int // tool calls answered by this run
	usage  transcript.Usage
	stop   transcript.StopReason
	text   string // visible text of the last answer

	limits session.Limits // of the session, in force
	before session.Spent  // by earlier runs; Elapsed unused
	tokens uint64         // of all kinds, by this run
	ran    int            // tool calls that were started by this run
	over   int            // tool calls that the budget had no room for
	warned []session.BudgetKind

	chain  chain
	target handoff.Target
	told   map[handoff.Degradation]bool // degradations that were reported
	sent   sent                         // the call under way
	batch  batch                        // the tools under way
	// pending is what is said once the tools of an earlier run are answered.
	pending *opening
	// compacting is the reason of the compaction under way, short says that it
	// sees a part of the conversation only, and refused why: the provider's word.
	// sealed says that this run does not try another one.
	compacting string
	short      bool
	refused    error
	sealed     bool
	phase      phase
}

// phase is what the run waits for; it decides which inputs make sense.
type phase int

const (
	phaseNew phase = iota
	phaseCalling
	phaseWaiting // for the next attempt
	phaseTools
	phaseDone
)

// settings are what a run was asked to do.
type settings struct {
	prefix          session.Prefix // At and Hash unset
	maxOutputTokens int
	maxTurns        int
	temperature     *float64
	unary           bool
	outputSchema    transcript.RawJSON
	cacheTTL        string
	attached        []transcript.Part // to the prompt
	account         string
	api             string
	marks           []session.Mark
	limits          session.Limits
	warnAt          float64
	retry           provider.RetryPolicy
	interrupted     Policy
	compaction      Compaction
	idempotent      func(name string) bool
	lookup          func(model string) (catalog.Entry, error) // nil: the catalogue
	compactOnly     bool                                      // the run is a compaction and nothing else
}

// chain is the Digest of the first n messages of the session.
type chain struct {
	n    int
	hash string
}

// sent is the call under way: what it carries, how often it was tried, and what
// of the conversation it could not carry.
type sent struct {
	request  provider.Request
	messages int
	hash     string
	attempt  int
	degraded []handoff.Degradation
}

// batch is the calls of one reply and what is known of them.
type batch struct {
	message int // index of the reply
	calls   []transcript.ToolCall
	answers []answer
}

// answer is what became of one call.
type answer struct {
	known  bool
	status string    // a tool.Status, or refused
	ran    bool      // the tool was started
	since  time.Time // when
	result transcript.ToolResult
}

// with returns b with the answer at i replaced; b stays as it is.
func (b batch) with(i int, a answer) batch {
	b.answers = slices.Clone(b.answers)
	b.answers[i] = a
	return b
}

func (b *batch) index(id string) int {
	return slices.IndexFunc(b.calls, func(c transcript.ToolCall) bool { return c.ID == id })
}

// open counts the calls without an answer.
func (b *batch) open() int {
	n := 0
	for _, a := range b.answers {
		if !a.known {
			n++
		}
	}
	return n
}

// opening is what a run begins with: what changed since the session was last
// sent, and the prompt.
type opening struct {
	prompt  string
	changes *change
}

// result is what the run has come to so far.
func (s *state) result() Result {
	return Result{SessionID: s.session.ID, RunID: s.runID, Text: s.text, StopReason: s.stop, Usage: s.usage, Turns: s.turns, ToolCalls: s.tools}
}

// visible is the text since the last message that is not the model's own: a
// reply that paused is one answer in several messages.
func visible(messages []transcript.Message) string {
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
