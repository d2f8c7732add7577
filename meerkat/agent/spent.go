package agent

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// spentAt is what the session has used up at a time (E18).
func (s *state) spentAt(at time.Time) session.Spent {
	b := s.spentEarlier
	b.Tokens += s.tokensUsed
	b.ToolCalls += s.toolsStarted + s.toolsOverBudget
	b.Turns += s.callsAnswered
	b.Elapsed = s.session.Elapsed + max(0, at.Sub(s.session.Updated))
	return b
}

// timeLeft is how long the time budget still lets the run go on, 0 without one.
func (s *state) timeLeft(at time.Time) time.Duration {
	left, ok := s.limits.TimeLeft(s.spentAt(at))
	if !ok {
		return 0
	}
	return max(left, 1)
}

// totalTokens counts all kinds of tokens of one call (E18). Some providers
// count cached input beside the rest of the input, the others within it.
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

// spentBefore adds up what earlier runs of a session used. What a fork has from
// its parent, the parent has paid for.
func spentBefore(s *session.Session) session.Spent {
	var b session.Spent
	runs := map[string]bool{"": true}
	for _, r := range s.Runs {
		runs[r.ID] = true
	}
	for _, c := range s.Calls {
		if runs[c.RunID] {
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
