package agent

import (
	"errors"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
)

// isTooLong reports whether the provider refused a request for its length.
func isTooLong(err error) bool {
	var failure *provider.Error
	return errors.As(err, &failure) && failure.Kind == provider.ContextTooLong
}

// compactAfterOverflow answers a refusal of a request that is too long by a summary of
// part of the conversation, if that may help: once, until there is more to
// summarise. It reports whether it did.
func (p *transition) compactAfterOverflow(in failureInput) bool {
	s := &p.state
	switch {
	case !isTooLong(in.err) || s.truncatedHistory || len(s.truncatedView().Kept) == len(unitIndices(s.retentionUnits())):
		return false
	case s.compactReason != "":
		s.truncatedHistory = true
		p.requestSummary(in.at)
		return true
	case s.settings.compaction.Threshold <= 0 || s.compactionFailed || s.compactedThrough() == len(s.session.Messages):
		return false
	}
	s.truncatedHistory, s.overflowErr = true, in.err
	p.startCompaction(in.at, "the provider says that the conversation is too long")
	return true
}

// leftOut stands for what a request for a summary has no room for.
const leftOut = "(Parts of the conversation are left out here: it has become too long.)"

// truncatedView is a view of about half of the conversation: what counts most of it, and
// the summary of what went before.
func (s *state) truncatedView() handoff.Compaction {
	c := handoff.Compaction{Through: len(s.session.Messages), Summary: leftOut, Made: len(s.session.Messages)}
	if n := len(s.session.Compactions); n > 0 {
		c.Summary = s.session.Compactions[n-1].Summary + "\n\n" + leftOut
	}
	units, all := s.retentionUnits(), 0
	for _, u := range units {
		all += u.weight
	}
	c.Kept = selectUnits(all/2, units)
	return c
}

func unitIndices(units []retentionUnit) []int {
	var all []int
	for _, u := range units {
		all = append(all, u.indices...)
	}
	return all
}
