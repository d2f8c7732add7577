package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// step says what follows from in. It is pure.
func step(s state, in input) (state, []effect) {
	p := plan{state: s}
	switch in := in.(type) {
	case begin:
		p.begin(in)
	case replied:
		p.replied(in)
	case failed:
		p.failed(in)
	case waited:
		p.again(in.at)
	case starting:
		p.starting(in)
	case progressed:
		p.progressed(in)
	case settled:
		p.settled(in)
	case answered:
		p.answered(in)
	default:
		panic("agent: unknown input")
	}
	return p.result()
}

// plan collects the effects of one step while it applies their records to the
// state. Records that are added one after the other become one save, so that
// they are durable together.
type plan struct {
	state   state
	effects []effect
	records []session.Record
	err     error
}

// add saves records before whatever is done next.
func (p *plan) add(records ...session.Record) {
	if p.err != nil {
		return
	}
	if p.state.session, p.err = p.state.session.With(records...); p.err == nil {
		p.records = append(p.records, records...)
	}
}

func (p *plan) message(at time.Time, m transcript.Message) {
	p.add(session.Entry{At: at, Message: m})
}

func (p *plan) checkpoint(at time.Time, reason session.Reason) {
	p.add(session.Checkpoint{At: at, Reason: reason})
}

// tell reports an event. Records that were added before are saved after it
// unless they are flushed.
func (p *plan) tell(e Event) { p.effects = append(p.effects, notice{e, p.stamp()}) }

func (p *plan) stamp() stamp {
	if p.state.turns == 0 {
		return stamp{}
	}
	return stamp{p.state.turns, p.state.sent.attempt}
}

func (p *plan) flush() {
	if len(p.records) > 0 {
		p.effects = append(p.effects, save{p.records, p.stamp()})
		p.records = nil
	}
}

// do is the last effect of a step.
func (p *plan) do(e effect) {
	p.flush()
	p.effects = append(p.effects, e)
}

// result ends the step. Records that contradict the session end the run, with
// what was saved before them.
func (p *plan) result() (state, []effect) {
	if p.err != nil {
		p.state.phase = phaseDone
		return p.state, []effect{finish{p.err}}
	}
	p.flush()
	return p.state, p.effects
}

// finish ends the run: its error and what it came to are the last records.
func (p *plan) finish(at time.Time, err error) {
	s := &p.state
	if err != nil {
		p.add(session.Failure{At: at, RunID: s.runID, Kind: kindOf(err), Message: err.Error()})
	}
	p.add(session.Task{
		At: at, RunID: s.runID, Turns: s.turns, ToolCalls: s.tools, Usage: s.usage,
		DurationMS: at.Sub(s.began).Milliseconds(), StopReason: s.stop,
	})
	s.phase = phaseDone
	p.do(finish{err})
}

// leave ends a run that has changed nothing, so that nothing is written.
func (p *plan) leave(err error) {
	p.records, p.state.phase = nil, phaseDone
	p.do(finish{err})
}

// within reports whether the budget leaves room for a model call; if it does
// not, the run is over. Limits that are nearly reached are told once (E18).
func (p *plan) within(at time.Time) bool {
	s := &p.state
	spent := s.spent(at)
	p.warn(spent)
	if err := s.limits.Exceeded(spent); err != nil {
		p.finish(at, err)
		return false
	}
	return true
}

func (p *plan) warn(spent session.Spent) {
	s := &p.state
	for _, w := range s.limits.Warnings(spent, s.settings.warnAt, s.warned) {
		s.warned = append(s.warned[:len(s.warned):len(s.warned)], w.Kind)
		p.tell(Event{Type: BudgetWarning, BudgetType: w.Kind, Used: w.Used, Limit: w.Limit, Percent: w.Share * 100})
	}
}
