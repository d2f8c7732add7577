package agent

import (
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/budget"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/ledger"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
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

	limits budget.Limits // of the session, in force
	before budget.Spent  // by earlier runs; Elapsed unused
	tokens uint64        // of all kinds, by this run
	ran    int           // tool calls that were started by this run
	over   int           // tool calls that the budget had no room for
	warned []budget.Kind

	chain  chain
	target handoff.Target
	told   map[handoff.Degradation]bool // degradations that were reported
	sent   sent                         // the call under way
	batch  batch                        // the tools under way
	// pending is what is said once the tools of an earlier run are answered.
	pending *opening
	// compacting is the reason of the compaction under way; sealed says that
	// this run does not try another one.
	compacting string
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
	offered         bool           // a dispatcher says which tools there are
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
	limits          budget.Limits
	warnAt          float64
	retry           provider.RetryPolicy
	interrupted     Policy
	compaction      Compaction
	idempotent      func(name string) bool
	compactOnly     bool // the run is a compaction and nothing else
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
	// reported, blocks are those that were complete.
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

// result is what the run has come to so far.
func (s *state) result() Result {
	return Result{SessionID: s.session.ID, RunID: s.runID, Text: s.text, StopReason: s.stop, Usage: s.usage, Turns: s.turns, ToolCalls: s.tools}
}

// spent is what the session has used up at a time (E18).
func (s *state) spent(at time.Time) budget.Spent {
	b := s.before
	b.Tokens += s.tokens
	b.ToolCalls += s.ran + s.over
	b.Turns += s.calls
	b.Elapsed = s.session.Elapsed + max(0, at.Sub(s.session.Updated))
	return b
}

// left is how long the time budget still lets the run go on, 0 without one.
func (s *state) left(at time.Time) time.Duration {
	left, ok := s.limits.TimeLeft(s.spent(at))
	if !ok {
		return 0
	}
	return max(left, 1)
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

// tokensOf counts all kinds of tokens of one call (E18). Anthropic counts cached
// input beside the rest of the input, the others within it.
func tokensOf(name string, u transcript.Usage) uint64 {
	n := u.Total()
	if name != catalog.Anthropic {
		return n
	}
	for _, cached := range []*uint64{u.CacheCreationTokens, u.CacheReadTokens} {
		if cached != nil {
			n += *cached
		}
	}
	return n
}

// spentBefore adds up what earlier runs of a session used. What a fork has from
// its parent, the parent has paid for.
func spentBefore(s *session.Session) budget.Spent {
	var b budget.Spent
	runs := map[string]bool{"": true}
	for _, r := range s.Runs {
		runs[r.ID] = true
	}
	for _, c := range s.Calls {
		if runs[c.RunID] {
			b.Turns++
		}
		if c.Usage != nil {
			b.Tokens += tokensOf(c.Provider, *c.Usage)
		}
	}
	for _, c := range s.Compactions {
		if c.Usage != nil {
			b.Tokens += c.Usage.Total()
		}
	}
	type name struct {
		message int
		id      string
	}
	started := map[name]bool{}
	for _, e := range s.Ledger.Entries() {
		if e.Status == ledger.Running {
			started[name{e.Message, e.CallID}] = true
		}
	}
	b.ToolCalls = len(started)
	return b
}
