package agent

import (
	"errors"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
)

// tooLong reports whether the provider refused a request for its length.
func tooLong(err error) bool {
	var failure *provider.Error
	return errors.As(err, &failure) && failure.Kind == provider.ContextTooLong
}

// overflowed answers a refusal of a request that is too long by a summary of
// part of the conversation, if that may help: once, until there is more to
// summarise. It reports whether it did.
func (p *plan) overflowed(in failed) bool {
	s := &p.state
	switch {
	case !tooLong(in.err) || s.short || len(s.half().Kept) == len(indices(s.units())):
		return false
	case s.compacting != "":
		s.short = true
		p.summarise(in.at)
		return true
	case s.settings.compaction.Threshold <= 0 || s.sealed || s.through() == len(s.session.Messages):
		return false
	}
	s.short, s.refused = true, in.err
	p.compact(in.at, "the provider says that the conversation is too long")
	return true
}

// leftOut stands for what a request for a summary has no room for.
const leftOut = "(Parts of the conversation are left out here: it has become too long.)"

// half is a view of about half of the conversation: what counts most of it, and
// the summary of what went before.
func (s *state) half() handoff.Compaction {
	c := handoff.Compaction{Through: len(s.session.Messages), Summary: leftOut, Made: len(s.session.Messages)}
	if n := len(s.session.Compactions); n > 0 {
		c.Summary = s.session.Compactions[n-1].Summary + "\n\n" + leftOut
	}
	units, all := s.units(), 0
	for _, u := range units {
		all += u.weight
	}
	c.Kept = within(all/2, units)
	return c
}

func indices(units []unit) []int {
	var all []int
	for _, u := range units {
		all = append(all, u.indices...)
	}
	return all
}
