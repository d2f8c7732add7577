package agent

import (
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// refused is the status of a call that is answered without asking its tool.
const refused = "refused"

// dispatch runs the calls of the batch that are not answered yet: as many as
// the budget lets through, and only tools that are there. The others are
// answered at once.
func (p *plan) dispatch(at time.Time) {
	s := &p.state
	p.flush()
	spent := s.spent(at)
	p.warn(spent)
	room := s.limits.ToolCallsLeft(spent, s.batch.open())
	var run []transcript.ToolCall
	for i, c := range s.batch.calls {
		switch {
		case s.batch.answers[i].known:
		case s.gone(c.Name):
			s.batch = s.batch.with(i, answer{known: true, status: refused, result: tool.NotExecuted(c.ID, fmt.Sprintf("the tool %s is no longer available", c.Name))})
		case room == 0:
			s.over++
			s.batch = s.batch.with(i, answer{known: true, status: refused, result: tool.NotExecuted(c.ID, fmt.Sprintf("the budget of %d tool calls is spent", s.limits.MaxToolCalls))})
		default:
			room--
			run = append(run, c)
		}
	}
	if run == nil {
		p.answered(answered{at: at})
		return
	}
	s.phase = phaseTools
	p.do(dispatch{run, s.left(at)})
}

// gone reports whether the session offers a tool that no longer exists.
func (s *state) gone(name string) bool {
	return find(s.session.Prefix.Tools, name) != nil && !s.offers(name)
}

// starting makes the start of a tool durable before it can have any effect
// (DESIGN §3.6).
func (p *plan) starting(in starting) {
	s := &p.state
	i := s.batch.index(in.id)
	c := s.batch.calls[i]
	s.batch = s.batch.with(i, answer{ran: true, since: in.at})
	s.ran++
	p.add(session.Tool{At: in.at, CallRecord: s.batch.entry(i, transcript.CallRunning)})
	p.flush()
	p.tell(Event{Type: ToolExecutionStarted, ID: c.ID, Name: c.Name})
}

func (b *batch) entry(i int, status transcript.CallStatus) transcript.CallRecord {
	return transcript.CallRecord{Message: b.message, CallID: b.calls[i].ID, Name: b.calls[i].Name, Status: status}
}

func (p *plan) progressed(in progressed) {
	e := Event{Type: ToolProgress, ID: in.call.ID, Name: in.call.Name, Progress: &in.progress.Done, Message: in.progress.Message}
	if in.progress.Total != 0 {
		e.Total = &in.progress.Total
	}
	p.tell(e)
}

// settled keeps what became of a call, on disk if others are still open.
func (p *plan) settled(in settled) {
	s := &p.state
	i := s.batch.index(in.id)
	a := s.batch.answers[i]
	a.known, a.status, a.result = true, string(in.outcome.Status), in.result
	s.batch = s.batch.with(i, a)
	if !a.ran {
		return
	}
	if status := a.ledger(); s.batch.open() > 0 && (status == transcript.CallComplete || status == transcript.CallError) {
		e := s.batch.entry(i, status)
		e.Result = &a.result
		p.add(session.Tool{At: in.at, CallRecord: e})
		p.flush() // who is told of it finds it after a crash
	}
	ms := in.at.Sub(a.since).Milliseconds()
	e := Event{Type: ToolExecutionCompleted, ID: in.id, Name: s.batch.calls[i].Name, Result: a.result.Content, IsError: &a.result.IsError, Status: a.status, DurationMS: &ms}
	if in.outcome.Status == tool.StatusTimedOut {
		bound := in.outcome.Timeout.Milliseconds()
		e.Type, e.TimeoutMS = ToolExecutionTimedOut, &bound
	}
	p.tell(e)
}

// ledger is the final status of a call that is answered with a.
func (a *answer) ledger() transcript.CallStatus {
	switch {
	case a.status == string(tool.StatusInterrupted):
		return transcript.CallInterrupted
	case a.status == string(tool.StatusCancelled), a.status == refused:
		return transcript.CallCancelled
	case a.result.IsError:
		return transcript.CallError
	default:
		return transcript.CallComplete
	}
}

// answered makes the results durable and calls the model with them, or ends the
// run if that is what stopped the tools.
func (p *plan) answered(in answered) {
	s := &p.state
	for i := range s.batch.answers {
		a := &s.batch.answers[i]
		if in.cause == causeUser && (a.status == string(tool.StatusCancelled) || a.status == string(tool.StatusInterrupted)) {
			changed := *a
			changed.result.Status = transcript.ResultAborted
			s.batch = s.batch.with(i, changed)
		}
	}
	s.tools += len(s.batch.calls)
	p.conclude(in.at)
	switch in.cause {
	case causeNone:
	case causeBudget:
		p.finish(in.at, s.outOfTime(in.at))
		return
	default:
		p.finish(in.at, errCancelled(in.cause, "while tools were running"))
		return
	}
	if in.offers != nil {
		s.settings.prefix.Tools = in.offers
	}
	if s.pending != nil {
		s.pending.changes = p.changes()
		p.open(in.at)
		return
	}
	if in.offers != nil {
		if c := p.changes(); c != nil {
			p.tellModel(in.at, c)
			p.checkpoint(in.at, session.ReasonPrompt)
		}
	}
	p.call(in.at)
}

// conclude writes the results of the batch, in the order of its calls. What did
// not run, or may have, is in the ledger as such.
func (p *plan) conclude(at time.Time) {
	s := &p.state
	results := make([]transcript.ToolResult, len(s.batch.calls))
	for i := range s.batch.calls {
		a := &s.batch.answers[i]
		results[i] = a.result
		results[i].ToolUseID = s.batch.calls[i].ID
		p.received(i)
		if status := a.ledger(); status == transcript.CallCancelled || status == transcript.CallInterrupted {
			p.add(session.Tool{At: at, CallRecord: s.batch.entry(i, status)})
		}
	}
	s.batch = batch{}
	p.message(at, transcript.ToolResults(results...))
	p.checkpoint(at, session.ReasonToolResults)
}

// received tells that a result joins the conversation. Its text was told when
// the tool ended, unless no tool ran.
func (p *plan) received(i int) {
	c, a := p.state.batch.calls[i], p.state.batch.answers[i]
	size := len(a.result.Content)
	e := Event{Type: ToolResultReceived, ID: c.ID, Name: c.Name, IsError: &a.result.IsError, Status: string(a.ledger()), Size: &size}
	if !a.ran {
		e.Result = a.result.Content
	}
	p.tell(e)
}
