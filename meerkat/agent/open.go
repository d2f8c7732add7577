package agent

import (
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/ledger"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// opens returns the calls at the end of the session that are not answered, nil
// if there are none, with what the ledger knows of them.
func opens(s *session.Session) *batch {
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
	b := batch{message: last}
	for c := range m.ToolCalls() {
		if !done[c.ID] {
			b.calls = append(b.calls, c)
		}
	}
	if b.calls == nil {
		return nil
	}
	v := byStop(m)
	for _, c := range b.calls {
		b.answers = append(b.answers, recalled(s, last, c, v.why))
	}
	return &b
}

// recalled is what is known of a call that was left open. why says that the
// reply was one whose calls are never run. A session of a writer without a
// ledger does not say what had started.
func recalled(s *session.Session, at int, c transcript.ToolCall, why string) answer {
	e, _ := s.Ledger.Lookup(at, c.ID)
	switch {
	case why != "":
		return answer{known: true, status: refused, result: tool.NotExecuted(c.ID, why)}
	case e.Result != nil:
		return answer{known: true, status: statusOf(e), ran: true, result: *e.Result}
	case e.Status.Final():
		return closure(c.ID, e.Status) // the results that followed were lost
	case e.Status == ledger.Proposed && len(s.Runs) > 0:
		return answer{status: string(ledger.Cancelled)}
	default:
		return answer{status: string(ledger.Interrupted)}
	}
}

// closure answers a call that an interruption left open.
func closure(id string, status ledger.Status) answer {
	a := answer{known: true, status: string(status)}
	switch status {
	case ledger.Complete, ledger.Error:
		a.result = handoff.Closure(id, status)
	case ledger.Cancelled:
		a.result = tool.NotExecuted(id, notStarted)
	default: // it may have run
		a.status, a.result = string(tool.StatusInterrupted), tool.Interrupted(id)
	}
	return a
}

func statusOf(e ledger.Entry) string {
	if e.Status == ledger.Complete {
		return string(tool.StatusComplete)
	}
	return string(tool.StatusError)
}

// running lists the calls of which nobody knows whether they ran.
func (b *batch) running() []ledger.Entry {
	if b == nil {
		return nil
	}
	var found []ledger.Entry
	for i, a := range b.answers {
		if a.status == string(ledger.Interrupted) {
			found = append(found, ledger.Entry{Message: b.message, CallID: b.calls[i].ID, Name: b.calls[i].Name, Status: ledger.Running})
		}
	}
	return found
}

const notStarted = "the session was interrupted before this tool started"

// reopen answers the calls that an interruption left open, or runs them again
// if the policy and the tool say so.
func (p *plan) reopen(at time.Time) {
	s := &p.state
	b := s.batch
	for i, c := range b.calls {
		if b.answers[i].known || s.mayRepeat(c.Name) {
			continue
		}
		b = b.with(i, closure(c.ID, ledger.Status(b.answers[i].status)))
	}
	s.batch = b
	if b.open() == 0 {
		p.conclude(at)
		p.open(at)
		return
	}
	p.dispatch(at)
}

func (s *state) mayRepeat(name string) bool {
	return s.settings.interrupted == RetryIdempotent && s.settings.idempotent != nil && s.settings.idempotent(name) && s.offers(name)
}

// offers reports whether a tool is there to be run.
func (s *state) offers(name string) bool {
	return slices.ContainsFunc(s.settings.prefix.Tools, func(d transcript.ToolDef) bool { return d.Name == name })
}
