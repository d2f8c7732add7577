package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// spentAt is what the session and its ended operations have used up at a time.
func (s *state) spentAt(at time.Time) session.Spent {
	return s.session.Pool(s.limits, s.ownSpentAt(at)).Used()
}

// ownSpentAt is spentAt without what operations have used.
func (s *state) ownSpentAt(at time.Time) session.Spent {
	b := s.spentEarlier
	b.Tokens += s.tokensUsed
	b.ToolCalls += s.toolsStarted + s.toolsOverBudget
	b.Turns += s.callsAnswered
	b.Elapsed = s.session.Elapsed + max(0, at.Sub(s.session.Updated))
	return b
}

// SpentBy returns what a session has used over all its runs.
func SpentBy(s *session.Session) session.Spent {
	b := spentBefore(s)
	b.Elapsed = s.Elapsed
	return b
}

// timeLeft returns how long the run may still go on, 0 without a time budget.
func (s *state) timeLeft(at time.Time) time.Duration {
	left, ok := s.limits.TimeLeft(s.spentAt(at))
	if !ok {
		return 0
	}
	return max(left, 1)
}

// totalTokens adds up the tokens of one call, of all kinds. Some providers count
// cached input separately from the rest of the input, others as part of it.
func totalTokens(name string, u transcript.Usage) uint64 {
	n := u.Total()
	if !catalog.ProviderNamed(name).Traits.CacheBesideInput {
		return n
	}
	for _, cached := range []*uint64{u.CacheCreationTokens, u.CacheReadTokens} {
		if cached != nil {
			n += *cached
		}
	}
	return n
}

// spentBefore adds up what earlier runs of a session used. What a fork took over
// from its parent does not count.
func spentBefore(s *session.Session) session.Spent {
	var b session.Spent
	runs := map[string]bool{"": true}
	for _, r := range s.Runs {
		runs[r.ID] = true
	}
	for _, c := range s.Calls {
		if runs[c.RunID] && c.Error == "" {
			b.Turns++
		}
		if c.Usage != nil {
			b.Tokens += totalTokens(c.Provider, *c.Usage)
		}
	}
	for _, c := range s.Compactions {
		if c.Usage != nil && s.Prefix != nil {
			b.Tokens += totalTokens(s.Prefix.Provider, *c.Usage)
		}
	}
	type name struct {
		message int
		id      string
	}
	started := map[name]bool{}
	for _, e := range s.Ledger.Entries() {
		if e.Status == transcript.CallRunning {
			started[name{e.Message, e.CallID}] = true
		}
	}
	b.ToolCalls = len(started)
	return b
}
