package agent

import (
	"errors"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// wantsWindow reports whether the provider is asked for a compacted window before the
// agent summarises. A window follows no prompt of one's own, and the whole conversation
// must fit.
func (s *state) wantsWindow() bool {
	return s.target.Model.CompactsOnDemand() && s.settings.compaction.Prompt == "" && !s.truncatedHistory &&
		!s.windowFailed
}

// requestWindow sends the conversation to be compacted by the provider.
func (p *transition) requestWindow(at time.Time) {
	s := &p.state
	degraded, err := s.prepareCall(s.session.History())
	if err != nil {
		p.finishRun(at, err)
		return
	}
	s.current.request.Compact = true
	p.reportDegradations(degraded)
	p.sendRequest(at)
}

// errNoWindow says that a reply cannot take the place of the conversation.
var errNoWindow = errors.New("the provider returned no compacted window")

// windowOf returns a reply as a window: its blocks can go back as they came, one of them
// is a compaction, and no call waits for a result.
func (s *state) windowOf(m *transcript.Message) (*transcript.Message, error) {
	cannotGoBack := func(b transcript.Block) bool {
		return b.Type == transcript.BlockToolUse || s.target.Raw(&b) == nil
	}
	if !s.holdsCompaction(m) || slices.ContainsFunc(m.Blocks, cannotGoBack) {
		return nil, errNoWindow
	}
	window := *m
	window.Role = transcript.RoleAssistant
	return &window, nil
}
