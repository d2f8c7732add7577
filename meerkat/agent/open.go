package agent

import (
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// findOpenCalls returns the calls at the end of the session that are not answered, nil
// if there are none, with what the ledger knows of them.
func findOpenCalls(s *session.Session) *toolBatch {
	last := len(s.Messages) - 1
	done := map[string]bool{}
	for ; last >= 0 && s.Messages[last].Role == transcript.RoleToolResults; last-- {
		for _, r := range s.Messages[last].Results {
			done[r.ToolUseID] = true
		}
	}
	if last < 0 {
		return nil
	}
	m := &s.Messages[last]
	b := toolBatch{message: last}
	for c := range m.ToolCalls() {
		if !done[c.ID] {
			b.calls = append(b.calls, c)
		}
	}
	if b.calls == nil {
		return nil
	}
	v := verdictByStopReason(m)
	for _, c := range b.calls {
		b.answers = append(b.answers, recallAnswer(s, last, c, v.why))
	}
	return &b
}

// recallAnswer returns what is known of a call that was left open. why is set
// when the calls of such a reply are never run. A session that was written
// without a ledger does not say which calls had started.
func recallAnswer(s *session.Session, at int, c transcript.ToolCall, why string) toolAnswer {
	e, _ := s.Ledger.Lookup(at, c.ID)
	switch {
	case why != "":
		return toolAnswer{known: true, status: statusRefused, result: tool.NotExecuted(c.ID, why)}
	case e.Result != nil:
		return toolAnswer{known: true, status: answerStatus(e), started: true, result: *e.Result}
	case e.Status.Final():
		return closingAnswer(c.ID, e.Status) // the results that followed were lost
	case e.Status == transcript.CallProposed && len(s.Runs) > 0:
		return toolAnswer{status: string(transcript.CallCancelled)}
	default:
		return toolAnswer{status: string(transcript.CallInterrupted)}
	}
}

// closingAnswer answers a call that an interruption left open.
func closingAnswer(id string, status transcript.CallStatus) toolAnswer {
	a := toolAnswer{known: true, status: string(status)}
	switch status {
	case transcript.CallComplete, transcript.CallError:
		a.result = handoff.Closure(id, status)
	case transcript.CallCancelled:
		a.result = tool.NotExecuted(id, notStarted)
	default: // it may have run
		a.status, a.result = string(tool.StatusInterrupted), tool.Interrupted(id)
	}
	return a
}

func answerStatus(e transcript.CallRecord) string {
	if e.Status == transcript.CallComplete {
		return string(tool.StatusComplete)
	}
	return string(tool.StatusError)
}

// runningCalls lists the calls that may or may not have run.
func (b *toolBatch) runningCalls() []transcript.CallRecord {
	if b == nil {
		return nil
	}
	var found []transcript.CallRecord
	for i, a := range b.answers {
		if a.status == string(transcript.CallInterrupted) {
			found = append(found, transcript.CallRecord{
				Message: b.message, CallID: b.calls[i].ID, Name: b.calls[i].Name, Status: transcript.CallRunning,
			})
		}
	}
	return found
}

const notStarted = "the session was interrupted before this tool started"

// closeOpenCalls answers the calls that an interruption left open, or runs them again
// if the policy and the tool say so.
func (p *transition) closeOpenCalls(at time.Time) {
	s := &p.state
	b := s.batch
	for i, c := range b.calls {
		if b.answers[i].known || s.canRepeatTool(c.Name) {
			continue
		}
		b = b.withAnswer(i, closingAnswer(c.ID, transcript.CallStatus(b.answers[i].status)))
	}
	s.batch = b
	if b.openCount() == 0 {
		p.addResults(at)
		p.openConversation(at)
		return
	}
	p.dispatchTools(at)
}

func (s *state) canRepeatTool(name string) bool {
	return s.settings.interruptedPolicy == RetryIdempotent && s.settings.idempotent != nil &&
		s.settings.idempotent(name) && s.offersTool(name)
}

// offersTool reports whether a tool exists now.
func (s *state) offersTool(name string) bool {
	return slices.ContainsFunc(s.settings.prefix.Tools, func(d transcript.ToolDef) bool { return d.Name == name })
}
