package session

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// growth tells whether a Session may append to its slices in place. All values
// that grew from one another share a counter, which is at the newest of them;
// any other value must copy.
type growth struct {
	newest *atomic.Int64
	at     int64
}

// Equal is always true, so that comparisons of sessions field by field ignore
// where the records are stored.
func (growth) Equal(growth) bool { return true }

// growOrCopy makes sure that nothing else writes behind the slices of s.
func (s *Session) growOrCopy() {
	if s.grown.newest != nil && s.grown.newest.CompareAndSwap(s.grown.at, s.grown.at+1) {
		s.grown.at++
		return
	}
	s.Messages = slices.Clip(s.Messages)
	s.Calls = slices.Clip(s.Calls)
	s.Runs = slices.Clip(s.Runs)
	s.RunEnds = slices.Clip(s.RunEnds)
	s.Errors = slices.Clip(s.Errors)
	s.Compactions = slices.Clip(s.Compactions)
	s.Refusals = slices.Clip(s.Refusals)
	s.Annotations = slices.Clip(s.Annotations)
	s.Timeline = slices.Clip(s.Timeline)
	s.operations = slices.Clip(s.operations)
	s.grown = growth{newest: new(atomic.Int64)}
}

func (s *Session) applyRecord(r Record) error {
	if _, isHeader := r.(Header); isHeader == (s.ID != "") {
		return fmt.Errorf("session: the header must be the first record and the only one")
	}
	if err := s.foldRecord(r); err != nil {
		return err
	}
	s.advanceClock(r)
	s.addToTimeline(r)
	return nil
}

// addToTimeline puts r into the timeline if one of the slices holds it.
func (s *Session) addToTimeline(r Record) {
	var held int
	switch r.(type) {
	case Run:
		held = len(s.Runs)
	case MessageRecord:
		held = len(s.Messages)
	case Call:
		held = len(s.Calls)
	case ErrorRecord:
		held = len(s.Errors)
	case RunEnd:
		held = len(s.RunEnds)
	case Compaction:
		held = len(s.Compactions)
	case Annotation:
		held = len(s.Annotations)
	default:
		return
	}
	item := TimelineItem{At: r.recordTime(), Kind: r.recordKind(), Index: held - 1}
	if m, ok := r.(MessageRecord); ok {
		item.Source = m.Source
	}
	s.Timeline = append(s.Timeline, item)
}

// foldRecord adds what r says.
func (s *Session) foldRecord(r Record) (err error) {
	switch r := r.(type) {
	case Header:
		s.Header, s.Updated = r, r.Created
	case Prefix:
		s.Prefix = &r
	case Run:
		s.Runs = append(s.Runs, r)
	case MessageRecord:
		s.foldMessage(r.Message)
		s.foldDelivered(r.Operations)
	case Call:
		s.Calls = append(s.Calls, r)
		s.addUsage(r.Usage)
	case Tool:
		if s.Ledger, err = s.Ledger.With(r.CallRecord); err != nil {
			return fmt.Errorf("session: %w", err)
		}
		s.foldDelivered(r.Operations)
	case Operation:
		s.operations = append(s.operations, r.withValidUTF8())
	case ErrorRecord:
		s.Errors = append(s.Errors, r.withValidUTF8())
	case RunEnd:
		s.RunEnds = append(s.RunEnds, r)
	case Compaction:
		return s.foldCompaction(r.withValidUTF8())
	case Refusal:
		s.Refusals = append(s.Refusals, r.withValidUTF8())
	case Budget:
		s.Budget = &r
	case Metadata:
		s.Metadata = MergeMetadata(s.Metadata, r.Values)
	case Annotation:
		s.Annotations = append(s.Annotations, r)
	case Checkpoint:
		s.Checkpoint = r.Reason
		s.forkComplete = s.forkComplete || r.Reason == ReasonForked
	}
	return nil
}

func (s *Session) addUsage(u *transcript.Usage) {
	if u != nil {
		s.Usage.Add(*u)
	}
}

// advanceClock moves the clock. Between two runs, and until a torn tail is repaired, no
// time is spent.
func (s *Session) advanceClock(r Record) {
	at := r.recordTime()
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

// foldMessage adds m and what it says of tool calls: a reply proposes its calls,
// results end them. What the ledger knows already stands; a result that was
// written twice, or that nobody asked for, changes nothing.
func (s *Session) foldMessage(m transcript.Message) {
	s.Messages = append(s.Messages, m)
	for c := range m.ToolCalls() {
		s.foldLedgerEntry(transcript.CallRecord{
			Message: len(s.Messages) - 1, CallID: c.ID, Name: c.Name, Status: transcript.CallProposed,
		})
	}
	for i := range m.Results {
		// A result ends the open call of the last reply that it answers. A result that comes after a
		// further reply is too late: the model has been told otherwise.
		r := &m.Results[i]
		last := len(s.Messages) - 1
		for last >= 0 && s.Messages[last].Role != transcript.RoleAssistant {
			last--
		}
		if e, ok := s.Ledger.Lookup(last, r.ToolUseID); ok {
			e.Result, e.Status = r, finalStatus(e.Status, r)
			s.foldLedgerEntry(e)
		}
	}
}

func (s *Session) foldLedgerEntry(e transcript.CallRecord) {
	if l, err := s.Ledger.With(e); err == nil {
		s.Ledger = l
	}
}

// finalStatus returns the state that a result gives its call. It does not change
// how a call ended that the ledger has already closed.
func finalStatus(was transcript.CallStatus, r *transcript.ToolResult) transcript.CallStatus {
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

// lastSummary returns the last compaction that every target reads, nil if there is none.
func (s *Session) lastSummary() *Compaction {
	for i := range slices.Backward(s.Compactions) {
		if s.Compactions[i].Window == nil {
			return &s.Compactions[i]
		}
	}
	return nil
}

// foldCompaction adds c if it names messages that exist, in order, and none that
// an earlier summary left out: later thinking is bound to a conversation without
// them. What a provider's window stands for is sent to other providers, and may be kept.
func (s *Session) foldCompaction(c Compaction) error {
	earliest := 0
	if n := len(s.Compactions); n > 0 {
		earliest = s.Compactions[n-1].Through
	}
	if c.Through < earliest || c.Through > len(s.Messages) {
		return fmt.Errorf(
			"session: a compaction through message %d; want %d to %d", c.Through, earliest, len(s.Messages),
		)
	}
	var before Compaction
	if summary := s.lastSummary(); summary != nil {
		before = *summary
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
	s.addUsage(c.Usage)
	return nil
}
