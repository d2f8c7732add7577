package agent

import (
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// statusRefused is the status of a call that is answered without asking its tool.
const statusRefused = "refused"

// dispatchTools runs the calls of the batch that have no answer yet. Calls that
// the budget has no room for, and calls of tools that do not exist, are answered
// at once instead.
func (p *transition) dispatchTools(at time.Time) {
	s := &p.state
	p.flushRecords()
	spent := s.spentAt(at)
	p.emitBudgetWarnings(spent)
	room := s.limits.ToolCallsLeft(s.withReserved(spent), s.batch.openCount())
	var run []transcript.ToolCall
	for i, c := range s.batch.calls {
		switch {
		case s.batch.answers[i].known:
		case findTool(s.session.Prefix.Tools, c.Name) != nil && !s.offersTool(c.Name):
			s.batch = s.batch.withAnswer(i, toolAnswer{
				known: true, status: statusRefused,
				result: tool.NotExecuted(c.ID, fmt.Sprintf("the tool %s is no longer available", c.Name)),
			})
		case room == 0:
			s.toolsOverBudget++
			s.batch = s.batch.withAnswer(i, toolAnswer{
				known: true, status: statusRefused,
				result: tool.NotExecuted(c.ID, fmt.Sprintf(
					"the budget of %d tool calls is spent", s.limits.MaxToolCalls,
				)),
			})
		default:
			room--
			run = append(run, c)
		}
	}
	if run == nil {
		p.handleToolsDone(toolsDoneInput{at: at})
		return
	}
	s.phase = phaseTools
	p.addLastEffect(toolsEffect{run, s.timeLeft(at)})
}

// handleToolStart makes the start of a tool durable before it can have any effect.
func (p *transition) handleToolStart(in toolStartInput) {
	s := &p.state
	i := s.batch.indexOfCall(in.id)
	c := s.batch.calls[i]
	s.batch = s.batch.withAnswer(i, toolAnswer{started: true, startedAt: in.at})
	s.toolsStarted++
	p.addRecords(session.Tool{At: in.at, CallRecord: s.batch.ledgerEntry(i, transcript.CallRunning)})
	p.flushRecords()
	p.emitEvent(Event{Type: ToolExecutionStarted, ID: c.ID, Name: c.Name})
}

func (b *toolBatch) ledgerEntry(i int, status transcript.CallStatus) transcript.CallRecord {
	return transcript.CallRecord{Message: b.message, CallID: b.calls[i].ID, Name: b.calls[i].Name, Status: status}
}

func (p *transition) handleToolProgress(in toolProgressInput) {
	e := Event{
		Type: ToolProgress, ID: in.call.ID, Name: in.call.Name, Progress: &in.progress.Done,
		Message: in.progress.Message,
	}
	if in.progress.Total != 0 {
		e.Total = &in.progress.Total
	}
	p.emitEvent(e)
}

// handleToolResult stores the answer to a call. It is saved at once if other
// calls are still open.
func (p *transition) handleToolResult(in toolResultInput) {
	s := &p.state
	i := s.batch.indexOfCall(in.id)
	a := s.batch.answers[i]
	a.known, a.status, a.result, a.operations = true, string(in.outcome.Status), in.result, in.operations
	s.batch = s.batch.withAnswer(i, a)
	if !a.started {
		return
	}
	if status := a.ledgerStatus(); s.batch.openCount() > 0 && (status == transcript.CallComplete ||
		status == transcript.CallError) {
		e := s.batch.ledgerEntry(i, status)
		e.Result = &a.result
		ids := p.recordEnds(in.at, a.operations)
		p.addRecords(session.Tool{At: in.at, CallRecord: e, Operations: ids})
		p.flushRecords() // who is reads the event finds the record after a crash
		p.settleOperations(ids, nil)
		a.operations = nil
		s.batch = s.batch.withAnswer(i, a)
	}
	ms := in.at.Sub(a.startedAt).Milliseconds()
	e := Event{
		Type: ToolExecutionCompleted, ID: in.id, Name: s.batch.calls[i].Name, Result: a.result.Content,
		IsError: &a.result.IsError, Status: a.status, DurationMS: &ms,
	}
	if in.outcome.Status == tool.StatusTimedOut {
		bound := in.outcome.Timeout.Milliseconds()
		e.Type, e.TimeoutMS = ToolExecutionTimedOut, &bound
	}
	p.emitEvent(e)
}

// ledgerStatus is the final status of a call that is answered with a.
func (a *toolAnswer) ledgerStatus() transcript.CallStatus {
	switch {
	case a.status == string(tool.StatusInterrupted):
		return transcript.CallInterrupted
	case a.status == string(tool.StatusCancelled), a.status == statusRefused:
		return transcript.CallCancelled
	case a.result.IsError:
		return transcript.CallError
	default:
		return transcript.CallComplete
	}
}

// handleToolsDone makes the results durable and calls the model with them. If
// the tools were stopped by a cancellation or the budget, it ends the run
// instead.
func (p *transition) handleToolsDone(in toolsDoneInput) {
	s := &p.state
	for i := range s.batch.answers {
		a := &s.batch.answers[i]
		if in.cause == causeUser && (a.status == string(tool.StatusCancelled) ||
			a.status == string(tool.StatusInterrupted)) {
			changed := *a
			changed.result.Status = transcript.ResultAborted
			s.batch = s.batch.withAnswer(i, changed)
		}
	}
	s.toolCalls += len(s.batch.calls)
	p.addResults(in.at)
	switch in.cause {
	case causeNone:
	case causeBudget:
		p.finishRun(in.at, s.timeBudgetError(in.at))
		return
	default:
		p.finishRun(in.at, errCancelled(in.cause, "while tools were running"))
		return
	}
	if in.offers != nil {
		s.settings.prefix.Tools = in.offers
	}
	if s.pending != nil {
		s.pending.changes = p.findChanges()
		p.openConversation(in.at)
		return
	}
	if in.offers != nil {
		if c := p.findChanges(); c != nil {
			p.addSettingsChange(in.at, c)
			p.addCheckpoint(in.at, session.ReasonPrompt)
		}
	}
	p.callModel(in.at)
}

// addResults stores the results of the batch in the order of its calls. The
// ledger says which calls did not run, or may have run.
func (p *transition) addResults(at time.Time) {
	s := &p.state
	results := make([]transcript.ToolResult, len(s.batch.calls))
	for i := range s.batch.calls {
		a := &s.batch.answers[i]
		results[i] = a.result
		results[i].ToolUseID = s.batch.calls[i].ID

		// A result joins the conversation. The event repeats the text only if no tool ran; otherwise the
		// end of the tool has reported it.
		c := s.batch.calls[i]
		size, isError := len(a.result.Content), a.result.IsError
		e := Event{
			Type: ToolResultReceived, ID: c.ID, Name: c.Name, IsError: &isError,
			Status: string(a.ledgerStatus()),
			Size:   &size,
		}
		if !a.started {
			e.Result = a.result.Content
		}
		p.emitEvent(e)
		if status := a.ledgerStatus(); status == transcript.CallCancelled || status == transcript.CallInterrupted {
			p.addRecords(session.Tool{At: at, CallRecord: s.batch.ledgerEntry(i, status)})
		}
	}
	var delivered []session.ID
	for i := range s.batch.answers {
		delivered = append(delivered, p.recordEnds(at, s.batch.answers[i].operations)...)
	}
	s.batch = toolBatch{}
	p.addRecords(session.MessageRecord{At: at, Message: transcript.ToolResults(results...), Operations: delivered})
	p.addCheckpoint(at, session.ReasonToolResults)
	p.settleOperations(delivered, nil)
}
