package agent

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// hasOpenOperations reports whether the model waits for the result of an operation.
func (s *state) hasOpenOperations() bool {
	return s.settings.operations && !s.settings.compactOnly && s.session.HasOpenOperations()
}

// withReserved adds to what is spent what is set aside for operations.
func (s *state) withReserved(spent session.Spent) session.Spent {
	if !s.settings.operations {
		return spent
	}
	for _, o := range s.session.Operations() {
		if r := o.Reserved; r != nil && o.End == nil {
			spent.Tokens += r.MaxTokens
			spent.ToolCalls += r.MaxToolCalls
			spent.Turns += r.MaxTurns
		}
	}
	return spent
}

// isBudgetReserved reports whether no room is left for a call until an operation ends
// and returns what it did not use.
func (s *state) isBudgetReserved(at time.Time) bool {
	return s.hasOpenOperations() && s.limits.Exceeded(s.withReserved(s.spentAt(at))) != nil
}

// waitForOperations waits until something has happened that the model must know, or
// that makes room for a call.
func (p *transition) waitForOperations(at time.Time) {
	p.state.phase = phaseWaitingForOps
	p.addLastEffect(awaitNewsEffect{p.state.timeLeft(at)})
}

// handleNews puts what is new into the conversation and calls the model, or goes on
// waiting, or ends the run that only waited.
func (p *transition) handleNews(in newsInput) {
	s := &p.state
	p.emitOperationEvents(in.events)
	waited := s.phase == phaseWaitingForOps
	switch in.cause {
	case causeNone:
	case causeBudget:
		p.finishRun(in.at, s.timeBudgetError(in.at))
		return
	default:
		moment := "before the call"
		if waited {
			moment = "while operations were running"
		}
		p.finishRun(in.at, errCancelled(in.cause, moment))
		return
	}
	added := p.addNews(in)
	switch {
	case waited && s.answered && !added && in.open:
		p.waitForOperations(in.at)
	case waited && s.answered && !added:
		p.addCheckpoint(in.at, session.ReasonCompleted)
		p.finishRun(in.at, nil)
	case waited && !added && in.open:
		p.waitForOperations(in.at)
	default:
		s.newsSeen, s.answered = true, false
		p.callModel(in.at)
	}
}

// addNews appends results and directives as messages that have the role of the user,
// and reports whether there were any.
func (p *transition) addNews(in newsInput) bool {
	if len(in.results)+len(in.directives) == 0 {
		return false
	}
	ids := p.recordEnds(in.at, in.results)
	if len(ids) > 0 {
		p.addRecords(session.MessageRecord{
			At: in.at, Message: transcript.User(ops.RenderResults(in.results)), Source: session.SourceOperations,
			Operations: ids,
		})
	}
	var applied []string
	for _, d := range in.directives {
		p.addRecords(session.MessageRecord{
			At: in.at, Message: transcript.User(ops.SteeringPrefix + d.Text), Source: session.SourceSteering,
		})
		applied = append(applied, d.ID)
	}
	p.addCheckpoint(in.at, session.ReasonPrompt)
	p.flushRecords()
	for _, r := range in.results {
		p.emitEvent(Event{Type: OperationDelivered, OperationID: r.OpID, Name: r.Label, Status: string(r.Status)})
	}
	for _, id := range applied {
		p.emitEvent(Event{Type: SteeringApplied, ID: id})
	}
	p.settleOperations(ids, applied)
	return true
}

// recordEnds records how operations ended, and returns their ids.
func (p *transition) recordEnds(at time.Time, results []ops.OpResult) (ids []session.ID) {
	for _, r := range results {
		ids = append(ids, r.OpID)
		p.addRecords(session.Operation{At: at, ID: r.OpID, State: session.OperationEnded, End: &session.OperationEnd{
			Status: string(r.Status), StartedAt: r.StartedAt, EndedAt: r.CompletedAt, Attempt: r.Attempt,
			Spent: r.Spent, Error: r.Error, Artifact: r.Artifact, Size: r.Size,
		}})
	}
	return ids
}

// settleOperations says that results and directives have been saved.
func (p *transition) settleOperations(results []session.ID, directives []string) {
	if len(results)+len(directives) == 0 {
		return
	}
	p.flushRecords()
	p.effects = append(p.effects, settleEffect{results, directives})
}

// emitOperationEvents reports what happened to operations.
func (p *transition) emitOperationEvents(events []ops.OpEvent) {
	for _, e := range events {
		out := Event{OperationID: e.ID, Name: e.Label}
		switch e.Type {
		case ops.EventStarted:
			out.Type = OperationStarted
		case ops.EventProgress:
			out.Type, out.Message, out.Progress = OperationProgress, e.Message, e.Percent
		case ops.EventSteeringApplied:
			out.Type, out.ID = SteeringApplied, e.SteeringID
		default:
			out.Type, out.Status, out.Result, out.Error = OperationEnded, string(e.Type), e.Result, e.Error
		}
		p.emitEvent(out)
	}
}

// handleSubmission records operations before they start. What they may spend is set
// aside in the budget of the session.
func (p *transition) handleSubmission(in submissionInput) {
	s := &p.state
	specs, err := s.completeSpecs(in)
	var records []session.Record
	for i := 0; err == nil && i < len(specs); i++ {
		var encoded []byte
		encoded, err = json.Marshal(specs[i])
		record := session.Operation{
			At: in.at, ID: specs[i].ID, State: session.OperationSubmitted, Label: specs[i].Label, Spec: encoded,
		}
		if specs[i].Kind == ops.SubAgent {
			record.Reserved = &specs[i].BudgetReservation
		}
		records = append(records, record)
	}
	if err != nil {
		p.effects = append(p.effects, answerEffect{submissionAnswer{err: err}})
		return
	}
	p.addRecords(records...)
	p.flushRecords()
	p.effects = append(p.effects, answerEffect{submissionAnswer{specs: specs}})
}

// completeSpecs fills in the budget of each operation, which is what it asks for, and its
// share of what is left in each kind that it does not name; and where a fork begins. A
// tool call is paid for by the call that starts it.
func (s *state) completeSpecs(in submissionInput) ([]ops.OperationSpec, error) {
	if len(in.specs) > 0 && in.specs[0].Kind == ops.ToolCall {
		return in.specs, nil
	}
	pool := s.session.Pool(s.limits, s.ownSpentAt(in.at))
	left, err := pool.Remaining()
	if err != nil {
		return nil, err
	}
	policy, parts := session.EqualShares(), len(in.specs)+1
	if len(in.specs) > 0 && !in.specs[0].Fork { // more may follow; the branches of a fork are all there
		parts = max(in.shares, parts)
	}
	if in.fork != nil { // it says how branches share, and leaves nothing to the agent until one ends
		policy, parts = *in.fork, len(in.specs)
	}
	shares, err := policy.Divide(left, parts)
	if err != nil {
		return nil, err
	}
	specs := slices.Clone(in.specs)
	for i := range specs {
		spec := &specs[i]
		spec.BudgetReservation = shares[i].OverriddenBy(spec.BudgetReservation)
		if pool, err = pool.Reserve(string(spec.ID), spec.BudgetReservation); err != nil {
			return nil, err
		}
		if spec.Fork {
			spec.ForkAt = len(s.session.Messages)
		}
	}
	return specs, nil
}

// restoreOperations takes over the operations of earlier runs. Those that have not ended
// continue. The results that the model has not received are reported to it again.
func (p *transition) restoreOperations() {
	s := &p.state
	if !s.settings.operations || s.settings.compactOnly {
		return
	}
	var all []ops.Restored
	for _, o := range s.session.Operations() {
		all = append(all, restoredOperation(o))
	}
	if all != nil {
		p.flushRecords()
		p.effects = append(p.effects, restoreEffect{all})
	}
}

// restoredOperation returns what the records say of an operation. A sub-agent that completed
// and whose result was not delivered runs again: its session has the result. A tool is never
// called again: only an artifact has what it returned.
func restoredOperation(o session.OperationInfo) ops.Restored {
	r := ops.Restored{Submitted: o.At, Delivered: o.Delivered}
	if err := json.Unmarshal(o.Spec, &r.Spec); err != nil {
		r.Result = &ops.OpResult{
			Error:       "its submission cannot be read: " + err.Error(),
			OpCausality: ops.OpCausality{Status: ops.Interrupted, CompletedAt: o.At},
		}
	}
	r.Spec.ID, r.Spec.Label = o.ID, o.Label
	if o.Reserved != nil {
		r.Spec.BudgetReservation = *o.Reserved
	}
	isTool := r.Spec.Kind == ops.ToolCall
	switch e := o.End; {
	case e != nil && (o.Delivered || e.Status != string(ops.Completed) || isTool && e.Artifact != ""):
		r.Result = &ops.OpResult{Error: e.Error, Artifact: e.Artifact, Size: e.Size, Spent: e.Spent,
			OpCausality: ops.OpCausality{
				Status: ops.OpStatus(e.Status), StartedAt: e.StartedAt, CompletedAt: e.EndedAt, Attempt: e.Attempt,
			}}
	case isTool:
		r.Result = &ops.OpResult{
			Error:       tool.Interrupted("").Content,
			OpCausality: ops.OpCausality{Status: ops.Interrupted, CompletedAt: o.At},
		}
	}
	return r
}
