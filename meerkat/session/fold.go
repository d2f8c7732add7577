package session

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// growth tells whether a Session may append to its slices in place: the values
// that grew from one another share the counter of the newest, and whoever is
// not at it must copy.
type growth struct {
	newest *atomic.Int64
	at     int64
}

// Equal is always true: where a Session keeps its records is no part of what it
// says. For those who compare sessions field by field.
func (growth) Equal(growth) bool { return true }

// own makes the room behind the slices of s its own.
func (s *Session) own() {
	if s.grown.newest != nil && s.grown.newest.CompareAndSwap(s.grown.at, s.grown.at+1) {
		s.grown.at++
		return
	}
	s.Messages = slices.Clip(s.Messages)
	s.Calls = slices.Clip(s.Calls)
	s.Runs = slices.Clip(s.Runs)
	s.Tasks = slices.Clip(s.Tasks)
	s.Failures = slices.Clip(s.Failures)
	s.Compactions = slices.Clip(s.Compactions)
	s.Marks = slices.Clip(s.Marks)
	s.Timeline = slices.Clip(s.Timeline)
	s.grown = growth{newest: new(atomic.Int64)}
}

func (s *Session) add(r Record) error {
	if _, isHeader := r.(Header); isHeader == (s.ID != "") {
		return fmt.Errorf("session: the header must be the first record and the only one")
	}
	if err := s.fold(r); err != nil {
		return err
	}
	s.pass(r)
	s.date(r)
	return nil
}

// date puts r into the timeline if one of the slices holds it.
func (s *Session) date(r Record) {
	var held int
	switch r.(type) {
	case Run:
		held = len(s.Runs)
	case Entry:
		held = len(s.Messages)
	case Call:
		held = len(s.Calls)
	case Failure:
		held = len(s.Failures)
	case Task:
		held = len(s.Tasks)
	case Compaction:
		held = len(s.Compactions)
	case Mark:
		held = len(s.Marks)
	default:
		return
	}
	s.Timeline = append(s.Timeline, Moment{At: r.when(), Kind: r.kind(), Index: held - 1})
}

// fold adds what r says.
func (s *Session) fold(r Record) (err error) {
	switch r := r.(type) {
	case Header:
		s.Header, s.Updated = r, r.Created
	case Prefix:
		s.Prefix = &r
	case Run:
		s.Runs = append(s.Runs, r)
	case Entry:
		s.message(r.Message)
	case Call:
		s.Calls = append(s.Calls, r)
		s.spend(r.Usage)
	case Tool:
		if s.Ledger, err = s.Ledger.With(r.CallRecord); err != nil {
			return fmt.Errorf("session: %w", err)
		}
	case Failure:
		s.Failures = append(s.Failures, r.mended())
	case Task:
		s.Tasks = append(s.Tasks, r)
	case Compaction:
		return s.compact(r.mended())
	case Budget:
		s.Budget = &r
	case Mark:
		s.Marks = append(s.Marks, r)
	case Checkpoint:
		s.Checkpoint = r.Reason
		s.forked = s.forked || r.Reason == ReasonForked
	}
	return nil
}

func (s *Session) spend(u *transcript.Usage) {
	if u != nil {
		s.Usage.Add(*u)
	}
}

// pass moves the clock. Between two runs, and until a torn tail is repaired, no
// time is spent.
func (s *Session) pass(r Record) {
	at := r.when()
	if !at.After(s.Updated) {
		return
	}
	switch r.(type) {
	case Run, Repair:
	default:
		if len(s.Runs) > 0 {
			s.Elapsed += at.Sub(s.Updated)
		}
	}
	s.Updated = at
}

// message adds m and what it says of tool calls: a reply proposes its calls,
// results end them. What the ledger knows already stands; a result that was
// written twice, or that nobody asked for, changes nothing.
func (s *Session) message(m transcript.Message) {
	s.Messages = append(s.Messages, m)
	for c := range m.ToolCalls() {
		s.note(transcript.CallRecord{Message: len(s.Messages) - 1, CallID: c.ID, Name: c.Name, Status: transcript.CallProposed})
	}
	for i := range m.Results {
		s.settle(&m.Results[i])
	}
}

func (s *Session) note(e transcript.CallRecord) {
	if l, err := s.Ledger.With(e); err == nil {
		s.Ledger = l
	}
}

// settle ends the open call of the last reply that r answers. A result that
// comes after a further reply is too late: the model has been told otherwise.
func (s *Session) settle(r *transcript.ToolResult) {
	last := len(s.Messages) - 1
	for last >= 0 && s.Messages[last].Role != transcript.RoleAssistant {
		last--
	}
	if e, ok := s.Ledger.Lookup(last, r.ToolUseID); ok {
		e.Result, e.Status = r, ended(e.Status, r)
		s.note(e)
	}
}

// ended is what a result says of the end of a call. How one ended that the
// ledger knows to have ended is not for the result to say.
func ended(was transcript.CallStatus, r *transcript.ToolResult) transcript.CallStatus {
	switch {
	case was.Final():
		return was
	case r.Status == transcript.ResultAborted && was == transcript.CallRunning:
		return transcript.CallInterrupted
	case r.Status == transcript.ResultAborted:
		return transcript.CallCancelled
	case r.IsError:
		return transcript.CallError
	}
	return transcript.CallComplete
}

// compact adds c if it speaks of messages that exist, in order, and brings none
// back that an earlier compaction left out: thinking since then was bound to a
// conversation without them.
func (s *Session) compact(c Compaction) error {
	var before Compaction
	if n := len(s.Compactions); n > 0 {
		before = s.Compactions[n-1]
	}
	if c.Through < before.Through || c.Through > len(s.Messages) {
		return fmt.Errorf("session: a compaction through message %d; want %d to %d", c.Through, before.Through, len(s.Messages))
	}
	last := -1
	for _, k := range c.Kept {
		if k <= last || k >= c.Through || k < before.Through && !slices.Contains(before.Kept, k) {
			return fmt.Errorf("session: a compaction through message %d cannot keep message %d", c.Through, k)
		}
		last = k
	}
	c.Seen = len(s.Messages)
	s.Compactions = append(s.Compactions, c)
	s.spend(c.Usage)
	return nil
}
