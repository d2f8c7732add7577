package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Fork returns the records of a new session that begins with the first n
// messages of s, and the header to write before them. System prompt, tools and
// messages stay as they are, because providers bind their tokens to them. The
// metadata goes along. If n
// separates calls from their results, the calls are closed; no message is
// removed. Usage, runs and budgets begin again; only what was sent stays known.
func (s *Session) Fork(n int, id ID, at time.Time) (Header, []Record, error) {
	if n < 1 || n > len(s.Messages) {
		return Header{}, nil, fmt.Errorf(
			"session %s: it has %d messages, so that it cannot be forked after message %d", s.ID, len(s.Messages), n,
		)
	}
	h := Header{Version: Version, ID: id, Created: at, Provider: s.Provider, Model: s.Model, Forked: &Forked{s.ID, n}}
	var records []Record
	if s.Prefix != nil {
		records = append(records, *s.Prefix)
		h.Provider, h.Model = s.Prefix.Provider, s.Prefix.Model
	}
	if s.Metadata != nil {
		records = append(records, Metadata{At: at, Values: s.Metadata})
	}
	records = append(records, s.recordsUntil(n)...)
	for _, r := range s.Refusals { // what a provider refused of these messages, it refuses of the fork
		if r.Repair != nil && r.Repair.From < n {
			within := *r.Repair
			within.Through = min(within.Through, n)
			r.Repair = &within
			records = append(records, r)
		}
	}
	if open := s.closingResults(n); len(open) > 0 {
		records = append(records, MessageRecord{At: at, Message: transcript.ToolResults(open...)})
	}
	return h, append(records, Checkpoint{At: at, Reason: ReasonForked}), nil
}

// recordsUntil returns the records of the first n messages: the messages, the
// requests that carried no more than them, the compactions within them, and the
// annotations up to then. The annotation of the model is always kept, because
// the fork continues with that model.
func (s *Session) recordsUntil(n int) (records []Record) {
	messages := 0
	for _, m := range s.Timeline {
		switch m.Kind {
		case Annotation{}.recordKind():
			if mark := s.Annotations[m.Index]; messages <= n || mark.Name == AnnotationAllowUnlisted {
				records = append(records, mark)
			}
		case MessageRecord{}.recordKind():
			messages++
			if m.Index < n {
				records = append(append(records, s.unrunCalls(m)...), MessageRecord{
					At: m.At, Message: s.Messages[m.Index], Source: m.Source,
				})
				records = append(records, s.unansweredCalls(m, n)...)
			}
		case Call{}.recordKind():
			if c := s.Calls[m.Index]; c.Sent < n {
				c.Usage = nil // the parent has paid
				records = append(records, c)
			}
		case Compaction{}.recordKind():
			if c := s.Compactions[m.Index]; c.Through <= n {
				c.Usage = nil
				records = append(records, c)
			}
		}
	}
	return records
}

// unrunCalls returns what the ledger knows of the calls that a message answers and the
// message itself does not say: that they never ran, or may have.
func (s *Session) unrunCalls(m TimelineItem) (records []Record) {
	results, last := s.Messages[m.Index].Results, s.lastSpoken(m.Index+1)
	for i := range results {
		e, _ := s.Ledger.Lookup(last, results[i].ToolUseID)
		if e.Status == transcript.CallCancelled || e.Status == transcript.CallInterrupted {
			records = append(records, Tool{At: m.At, CallRecord: e})
		}
	}
	return records
}

// unansweredCalls returns what the ledger knows of the calls of a reply that no message
// answers, unless the fork after n messages closes them: a request tells the model so,
// and thinking that comes later is bound to those words.
func (s *Session) unansweredCalls(m TimelineItem, n int) (records []Record) {
	if m.Index == s.lastSpoken(n) {
		return nil
	}
	for c := range s.Messages[m.Index].ToolCalls() {
		e, known := s.Ledger.Lookup(m.Index, c.ID)
		if known && e.Status != transcript.CallProposed && !s.isAnswered(m.Index, c.ID) {
			records = append(records, Tool{At: m.At, CallRecord: e})
		}
	}
	return records
}

// isAnswered reports whether a message answers the call of a reply.
func (s *Session) isAnswered(reply int, id string) bool {
	for _, m := range s.Messages[reply+1:] {
		if m.Role == transcript.RoleAssistant {
			return false
		}
		if slices.ContainsFunc(m.Results, func(r transcript.ToolResult) bool { return r.ToolUseID == id }) {
			return true
		}
	}
	return false
}

// lastSpoken returns the last of the first n messages that holds no results, or the first
// one.
func (s *Session) lastSpoken(n int) int {
	last := n - 1
	for last > 0 && s.Messages[last].Role == transcript.RoleToolResults {
		last--
	}
	return last
}

// closingResults returns results for the calls of the first n messages whose results
// come later or never, and says which it is.
func (s *Session) closingResults(n int) (results []transcript.ToolResult) {
	last, answered := s.lastSpoken(n), map[string]bool{}
	for _, m := range s.Messages[last:n] {
		for _, r := range m.Results {
			answered[r.ToolUseID] = true
		}
	}
	for c := range s.Messages[last].ToolCalls() {
		if !answered[c.ID] {
			r := transcript.ToolResult{
				ToolUseID: c.ID, IsError: true,
				Content: "not executed: the conversation was forked before this tool started",
			}
			switch e, _ := s.Ledger.Lookup(last, c.ID); e.Status {
			case transcript.CallRunning, transcript.CallComplete, transcript.CallError, transcript.CallInterrupted:
				r.Content = "the conversation was forked here: this tool was started in the other branch, its result is not known in this one, and its effects may exist"
			case transcript.CallProposed, transcript.CallCancelled:
			}
			results = append(results, r)
		}
	}
	return results
}

// ErrTornFork says that the process was killed while it wrote a fork.
var ErrTornFork = errors.New("the fork was cut off while it was written; delete it and fork again")

// Whole returns ErrTornFork for a fork whose beginning is incomplete: it would
// continue as a shorter conversation than the one that was forked.
func (s *Session) Whole() error {
	if s.Forked != nil && !s.forkComplete {
		return fmt.Errorf("session %s: %w", s.ID, ErrTornFork)
	}
	return nil
}

// Branch forks the stored session from after its first n messages, all of them
// if n is 0, and stores the fork as id: all of it, or nothing. Errors are those
// of the store and of Fork.
func Branch(ctx context.Context, store Store, from ID, n int, id ID, at time.Time) (Header, error) {
	return BranchTo(ctx, store, from, n, Child{ID: id}, at)
}

// Child is the session that a fork makes.
type Child struct {
	ID ID
	// Parent is set when the fork is the session of a sub-agent.
	Parent *Parent
}

// BranchTo is Branch with what the header of the fork says of its parent.
func BranchTo(ctx context.Context, store Store, from ID, n int, child Child, at time.Time) (Header, error) {
	s, err := store.Load(ctx, from)
	if err != nil {
		return Header{}, err
	}
	if n == 0 {
		n = len(s.Messages)
	}
	h, records, err := s.Fork(n, child.ID, at)
	if err != nil {
		return h, err
	}
	h.Parent = child.Parent
	return h, WriteNew(ctx, store, h, records)
}
