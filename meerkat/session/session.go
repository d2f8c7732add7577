package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Version is the newest session format that this package reads, and the one it
// writes. A newer one is a *VersionError.
const Version = 1

// ID names a session: the text of a UUID version 7, so that ids sort by the
// time of creation.
type ID string

// NewID returns a fresh ID.
func NewID() (ID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("session: no randomness for an id: %w", err)
	}
	return ID(id.String()), nil
}

// ParseID accepts the canonical text of a UUID and nothing else, so that an ID
// is always safe in a file name.
func ParseID(s string) (ID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return "", fmt.Errorf("session %q: not a session id; want a UUID such as 0199a2b4-…", s)
	}
	return ID(s), nil
}

// Session is what the records of one conversation add up to. It is a value:
// With returns a new one. Treat its slices as read-only.
type Session struct {
	Header
	// Updated is the time of the last record that carries one.
	Updated time.Time
	// Elapsed is how long the runs took together: each from its Run record to
	// the last one before the next, so that a crash loses none of it.
	Elapsed time.Duration
	// Prefix is what the provider was given ahead of the messages, as sent; nil
	// before the first request. Resume sends it again unchanged.
	Prefix   *Prefix
	Messages []transcript.Message
	// Ledger holds the state of each tool call.
	Ledger transcript.Ledger
	// Usage adds up the calls and the compactions; see Calls for each of them.
	Usage       transcript.Usage
	Calls       []Call
	Runs        []Run
	RunEnds     []RunEnd
	Errors      []ErrorRecord
	Compactions []Compaction
	// Refusals are the requests that providers refused for their form or for what they say.
	Refusals []Refusal
	// Budget is the one in force, nil if none was ever set.
	Budget *Budget
	// Metadata is what the user of the session noted about it, nil if nothing.
	Metadata    map[string]string
	Annotations []Annotation
	// Checkpoint is the reason of the last checkpoint, "" before the first.
	Checkpoint Reason
	// Timeline lists the records that the slices above hold, in the order in
	// which they were written.
	Timeline []TimelineItem

	operations   []Operation // and marks of delivery; see Operations
	forkComplete bool        // a fork's beginning is all there
	grown        growth
}

// Load returns the Session that records add up to. The first must be a Header.
func Load(records ...Record) (Session, error) {
	return Session{}.With(records...)
}

// With returns s with records added; s itself does not change. The cost depends
// on the new records only, as long as each value is extended once. Extending an
// older value again copies it.
func (s Session) With(records ...Record) (Session, error) {
	s.growOrCopy()
	for _, r := range records {
		if err := s.applyRecord(r); err != nil {
			return s, err
		}
	}
	return s, nil
}

// History is what handoff builds requests from.
func (s *Session) History() handoff.History {
	h := handoff.History{Messages: s.Messages, Ledger: s.Ledger}
	for _, c := range s.Compactions {
		h.Compactions = append(h.Compactions,
			handoff.Compaction{Through: c.Through, Summary: c.Summary, Kept: c.Kept, Made: c.Seen, Window: c.Window})
	}
	for i := range s.Refusals {
		if r := s.Refusals[i].Repair; r != nil {
			h.Repairs = append(h.Repairs, *r)
		}
	}
	return h
}

// AnnotationValue returns the value of the last annotation of that name.
func (s *Session) AnnotationValue(name string) (string, bool) {
	for _, m := range slices.Backward(s.Annotations) {
		if m.Name == name {
			return m.Value, true
		}
	}
	return "", false
}

// Last returns the last message, nil if there is none.
func (s *Session) Last() *transcript.Message {
	if len(s.Messages) == 0 {
		return nil
	}
	return &s.Messages[len(s.Messages)-1]
}
