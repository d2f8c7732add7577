package agent

import (
	"errors"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// isTooLong reports whether the provider rejected a request as too long.
func isTooLong(err error) bool {
	var failure *provider.Error
	return errors.As(err, &failure) && failure.Kind == provider.ContextTooLong
}

// canShortenAfter reports whether a summary of a part of the conversation can
// help after err: the provider rejected the request as too long, a part would be
// shorter, and this run has not tried it yet.
func (s *state) canShortenAfter(err error) bool {
	if !isTooLong(err) || s.truncatedHistory || s.compactReason == "" && s.newOutweighsRest() ||
		len(s.truncatedView().Kept) == len(unitIndices(s.retentionUnits())) {
		return false
	}
	if s.compactReason != "" {
		return true
	}
	return s.settings.compaction.Threshold > 0 && !s.compactionFailed && s.compactedThrough() < len(s.session.Messages)
}

// newOutweighsRest reports whether what was added since the last reply is, by our
// estimate, more than all the rest: then it is too long, and no summary of the rest helps.
func (s *state) newOutweighsRest() bool {
	added, last := 0, len(s.session.Messages)
	for last > 0 && s.session.Messages[last-1].Role != transcript.RoleAssistant {
		last--
		added += estimateTokens(&s.session.Messages[last])
	}
	return added > totalWeight(s.retentionUnits())/2
}

// compactAfterOverflow asks for a summary of a part of the conversation. A
// request for a summary that was too long itself is sent again with that part.
func (p *transition) compactAfterOverflow(in failureInput) {
	s := &p.state
	s.truncatedHistory = true
	if s.compactReason != "" {
		p.requestSummary(in.at)
		return
	}
	s.overflow = &in
	p.addRecords(s.refusalRecord(in))
	p.startCompaction(in.at, "the provider says that the conversation is too long")
}

// leftOut replaces what a request for a summary has no room for.
const leftOut = "(Parts of the conversation are left out here: it has become too long.)"

// truncatedView returns a view of about half of the conversation: its most
// important messages, and the summary or window of what came before.
func (s *state) truncatedView() handoff.Compaction {
	c := handoff.Compaction{Through: len(s.session.Messages), Summary: leftOut, Made: len(s.session.Messages)}
	if last := s.lastCompaction(); last != nil {
		c.Summary, c.Window = strings.TrimSpace(last.Summary+"\n\n"+leftOut), last.Window
	}
	units := s.retentionUnits()
	c.Kept = selectUnits(totalWeight(units)/2, units)
	return c
}

func unitIndices(units []retentionUnit) []int {
	var all []int
	for _, u := range units {
		all = append(all, u.indices...)
	}
	return all
}
