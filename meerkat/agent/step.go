package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// step returns the next state and the effects of an input. It is pure.
func step(s state, in input) (state, []effect) {
	p := transition{state: s}
	switch in := in.(type) {
	case beginInput:
		p.handleBegin(in)
	case replyInput:
		p.handleReply(in)
	case failureInput:
		p.handleFailure(in)
	case waitedInput:
		p.handleWaited(in.at)
	case toolStartInput:
		p.handleToolStart(in)
	case toolProgressInput:
		p.handleToolProgress(in)
	case toolResultInput:
		p.handleToolResult(in)
	case toolsDoneInput:
		p.handleToolsDone(in)
	case newsInput:
		p.handleNews(in)
	case operationEventsInput:
		p.emitOperationEvents(in.events)
	case submissionInput:
		p.handleSubmission(in)
	default:
		panic("agent: unknown input")
	}

	// Records that contradict the session end the run, with what was saved before them.
	if p.err != nil {
		p.state.phase = phaseDone
		return p.state, []effect{finishEffect{p.err}}
	}
	p.flushRecords()
	return p.state, p.effects
}

// transition collects the effects of one step while it applies their records to the
// state. Records that are added one after the other become one save, so that
// they are durable together.
type transition struct {
	state   state
	effects []effect
	records []session.Record
	err     error
}

// addRecords applies records to the session. They are saved before the next
// effect that needs them on disk.
func (p *transition) addRecords(records ...session.Record) {
	if p.err != nil {
		return
	}
	if p.state.session, p.err = p.state.session.With(records...); p.err == nil {
		p.records = append(p.records, records...)
	}
}

func (p *transition) addMessage(at time.Time, m transcript.Message) {
	p.addRecords(session.MessageRecord{At: at, Message: m})
}

func (p *transition) addCheckpoint(at time.Time, reason session.Reason) {
	p.addRecords(session.Checkpoint{At: at, Reason: reason})
}

// emitEvent reports an event. Records that were added before are saved after it
// unless they are flushed.
func (p *transition) emitEvent(e Event) {
	p.effects = append(p.effects, eventEffect{e, p.currentStamp()})
}

func (p *transition) currentStamp() eventStamp {
	if p.state.turns == 0 {
		return eventStamp{}
	}
	return eventStamp{p.state.turns, p.state.current.attempt}
}

func (p *transition) flushRecords() {
	if len(p.records) > 0 {
		p.effects = append(p.effects, saveEffect{p.records, p.currentStamp()})
		p.records = nil
	}
}

// addLastEffect saves what is pending and adds the last effect of a step.
func (p *transition) addLastEffect(e effect) {
	p.flushRecords()
	p.effects = append(p.effects, e)
}

// finishRun ends the run. Its error and its summary are the last records.
func (p *transition) finishRun(at time.Time, err error) {
	s := &p.state
	if err != nil {
		p.addRecords(session.ErrorRecord{At: at, RunID: s.runID, Kind: ErrorKind(err), Message: err.Error()})
	}
	p.addRecords(session.RunEnd{
		At: at, RunID: s.runID, Turns: s.turns, ToolCalls: s.toolCalls, Usage: s.usage,
		DurationMS: at.Sub(s.beganAt).Milliseconds(), StopReason: s.stopReason,
	})
	s.phase = phaseDone
	p.addLastEffect(finishEffect{err})
}

// checkBudgetAndWarn warns of limits that are nearly reached, once each, and
// ends the run when no room is left for a model call. Ask hasEnded afterwards.
func (p *transition) checkBudgetAndWarn(at time.Time) {
	spent := p.state.spentAt(at)
	p.emitBudgetWarnings(spent)
	if err := p.state.limits.Exceeded(spent); err != nil {
		p.finishRun(at, err)
	}
}

// hasEnded reports whether the run is over.
func (p *transition) hasEnded() bool { return p.state.phase == phaseDone }

func (p *transition) emitBudgetWarnings(spent session.Spent) {
	s := &p.state
	for _, w := range s.limits.Warnings(spent, s.settings.warnAt, s.warnedKinds) {
		s.warnedKinds = append(s.warnedKinds[:len(s.warnedKinds):len(s.warnedKinds)], w.Kind)
		p.emitEvent(Event{
			Type: BudgetWarning, BudgetType: w.Kind, Used: w.Used, Limit: w.Limit, Percent: w.Share * 100,
		})
	}
}
