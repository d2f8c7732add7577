package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Begin returns the header and the records of the session of a sub-agent that begins
// with what c selects of s. Every call in it has a result: calls that s has open are
// closed as in [Session.Fork], and none of them runs. Messages of s stay as they are and
// in the new session; what c leaves out is not sent. Store the records with [WriteNew].
func (s *Session) Begin(c ContextStrategy, id ID, at time.Time) (Header, []Record, error) {
	if err := c.Validate(); err != nil {
		return Header{}, nil, err
	}
	if c.kind == contextCustom {
		return s.beginCustom(c.messages, id, at)
	}
	h, records, err := s.Fork(len(s.Messages), id, at)
	if err == nil && c.kind == contextTurns {
		if cut, ok := s.lastTurns(int(c.turns), at); ok {
			records = slices.Insert(records, len(records)-1, Record(cut)) // the checkpoint stays the last
		}
	}
	return h, records, err
}

// lastTurns returns the compaction that leaves out what comes before the last n replies,
// false if that is nothing.
func (s *Session) lastTurns(n int, at time.Time) (Compaction, bool) {
	units := Units(s.Messages, s.VisibleMessages(s.lastSummary()))
	first := len(units)
	for ; first > 0 && n > 0; first-- {
		for _, i := range units[first-1] {
			if s.Messages[i].Role == transcript.RoleAssistant {
				n--
			}
		}
	}
	prompt := first - 1
	for prompt >= 0 && s.Messages[units[prompt][0]].Role != transcript.RoleUser {
		prompt--
	}
	c := Compaction{At: at, Reason: "the sub-agent begins with the last turns"}
	if first < len(units) {
		c.Through = units[first][0]
	}
	if len(s.Compactions) > 0 {
		c.Through = max(c.Through, s.Compactions[len(s.Compactions)-1].Through)
	}
	leftOut := false
	for u, indices := range units {
		kept := u >= first || u == prompt || isOfAgent(s.Messages[indices[0]].Role)
		leftOut = leftOut || !kept
		for _, i := range indices {
			if kept && i < c.Through {
				c.Kept = append(c.Kept, i)
			}
		}
	}
	return c, leftOut
}

// isOfAgent reports whether the agent itself, and not the user, says messages of the
// role to the model.
func isOfAgent(r transcript.Role) bool {
	return r == transcript.RoleSystem || r == transcript.RoleDeveloper
}

func (s *Session) beginCustom(messages []transcript.Message, id ID, at time.Time) (Header, []Record, error) {
	h := Header{Version: Version, ID: id, Created: at, Provider: s.Provider, Model: s.Model, Forked: &Forked{ID: s.ID}}
	var records []Record
	for _, m := range messages {
		records = append(records, MessageRecord{At: at, Message: withoutTokens(m)})
	}
	begun, err := Load(append([]Record{h}, records...)...)
	if err != nil {
		return h, nil, err
	}
	if n := len(messages); n > 0 {
		if open := begun.closingResults(n); len(open) > 0 {
			records = append(records, MessageRecord{At: at, Message: transcript.ToolResults(open...)})
		}
	}
	return h, append(records, Checkpoint{At: at, Reason: ReasonForked}), nil
}

// withoutTokens returns m without what a provider issued with it, and without the
// blocks that only their provider understands.
func withoutTokens(m transcript.Message) transcript.Message {
	m.Blocks = slices.DeleteFunc(
		slices.Clone(m.Blocks), func(b transcript.Block) bool { return b.Type == transcript.BlockOpaque },
	)
	for i := range m.Blocks {
		m.Blocks[i].Meta, m.Blocks[i].Raw, m.Blocks[i].Origin = nil, nil, nil
	}
	return m
}

// WriteNew stores a session that begins with records: all of it, or nothing. Errors are
// those of the store.
func WriteNew(ctx context.Context, store Store, h Header, records []Record) error {
	w, err := store.Create(ctx, h)
	if err != nil {
		return err
	}
	err = w.Append(ctx, records...)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil { // half of a fork would look like a whole session
		err = errors.Join(err, store.Delete(context.WithoutCancel(ctx), h.ID))
	}
	return err
}
