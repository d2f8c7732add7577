package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// handleBegin opens the run. It closes the calls that an interruption left open
// with what is known of them (open-call), tells the model what changed, makes
// the prompt durable and calls the model. A run that cannot begin writes
// nothing.
func (p *transition) handleBegin(in beginInput) {
	s := &p.state
	s.runID, s.beganAt = in.runID, in.at
	open := findOpenCalls(&s.session)
	prompt := in.prompt
	if err := p.checkCanBegin(prompt, open); err != nil {
		// End a run that has changed nothing. Nothing is written.
		p.records, p.state.phase = nil, phaseDone
		p.addLastEffect(finishEffect{err})
		return
	}
	s.spentEarlier = spentBefore(&s.session)
	p.addRecords(session.Run{At: in.at, ID: in.runID})
	p.addPrefix(in.at)
	p.restoreLimits(in.at)
	// Store what this run changes of the session's metadata.
	old := p.state.session.Metadata
	if !maps.Equal(old, session.MergeMetadata(old, p.state.settings.metadata)) {
		p.addRecords(session.Metadata{At: in.at, Values: p.state.settings.metadata})
	}
	// Store the annotations that the session does not hold yet.
	for _, m := range p.state.settings.annotations {
		if value, ok := p.state.session.AnnotationValue(m.Name); ok && value == m.Value {
			continue
		}
		m.At = in.at
		p.addRecords(m)
	}
	s.target = s.requestTarget()
	p.restoreOperations()
	s.pending = &runOpening{prompt: prompt, changes: p.findChanges()}
	if open == nil {
		p.openConversation(in.at)
		return
	}
	s.batch = *open
	p.closeOpenCalls(in.at)
}

// checkCanBegin returns why the run cannot begin, nil if it can.
func (p *transition) checkCanBegin(prompt string, open *toolBatch) error {
	s := &p.state
	nothingNew := strings.TrimSpace(prompt) == "" && open == nil && !s.hasOpenOperations()
	switch {
	case s.settings.compactOnly && len(s.session.Messages) == 0,
		!s.settings.compactOnly && nothingNew && !canContinue(s.session.Messages):
		return ErrNothingToContinue
	case !s.settings.compactOnly && nothingNew && s.isPromptRefused():
		return ErrPromptRefused
	}
	if stored := s.session.Prefix; stored != nil && s.settings.prefix.Model == "" &&
		stored.Provider != s.settings.prefix.Provider {
		return &MismatchError{"provider", stored.Provider, s.settings.prefix.Provider}
	}
	if running := open.runningCalls(); len(running) > 0 && s.settings.interruptedPolicy == Fail {
		return &InterruptedError{running}
	}
	if err := checkPromptSize(prompt, s.settings.maxPromptBytes); err != nil {
		return err
	}
	if err := session.CheckMetadata(session.MergeMetadata(s.session.Metadata, s.settings.metadata)); err != nil {
		return err
	}
	return p.checkPrefixUnchanged()
}

// checkPromptSize returns a *PromptTooLongError if prompt has more than limit bytes;
// a limit of 0 allows any.
func checkPromptSize(prompt string, limit int) error {
	if limit > 0 && len(prompt) > limit {
		return &PromptTooLongError{Bytes: len(prompt), Limit: limit}
	}
	return nil
}

// checkPrefixUnchanged checks that the session still holds what was sent before:
// providers bind their tokens to it. It starts the chain of digests that
// the run extends.
func (p *transition) checkPrefixUnchanged() error {
	s := &p.state
	if s.session.Prefix == nil {
		return nil
	}
	hash, err := session.Digest(s.session.Prefix.System, s.session.Prefix.Tools, nil)
	if err != nil {
		return err
	}
	s.chain = digestChain{hash: hash}
	calls := s.session.Calls
	if len(calls) == 0 {
		return nil
	}
	last := calls[len(calls)-1]
	if last.Sent > len(s.session.Messages) {
		return &PrefixError{Turn: last.Turn}
	}
	if hash, err = s.extendDigest(last.Sent); err == nil && hash != last.Hash {
		err = &PrefixError{Turn: last.Turn}
	}
	return err
}

// extendDigest extends the chain to the first n messages.
func (s *state) extendDigest(n int) (string, error) {
	hash, err := session.Extend(s.chain.hash, s.session.Messages[s.chain.n:n]...)
	if err == nil {
		s.chain = digestChain{n, hash}
	}
	return hash, err
}

// resumedPrefix returns the stored prefix with the model and effort that a run asks for.
func resumedPrefix(asked, stored session.Prefix) session.Prefix {
	prefix := stored
	if asked.Effort != "" {
		prefix.Effort = asked.Effort
	}
	if asked.Model != "" && (asked.Model != stored.Model || asked.Provider != stored.Provider) {
		prefix.Provider, prefix.Model, prefix.Effort = asked.Provider, asked.Model, asked.Effort
	}
	return prefix
}

// addPrefix stores what is sent ahead of the messages. A stored session keeps
// the system prompt and the tools it was started with. Model and effort may
// change, because no token is bound to them.
func (p *transition) addPrefix(at time.Time) {
	asked, stored := p.state.settings.prefix, p.state.session.Prefix
	prefix := asked
	if stored == nil {
		prefix.Hash, p.err = session.Digest(prefix.System, prefix.Tools, nil)
		p.state.chain = digestChain{hash: prefix.Hash}
	} else {
		prefix = resumedPrefix(asked, *stored)
		if prefix.Provider == stored.Provider && prefix.Model == stored.Model && prefix.Effort == stored.Effort {
			return
		}
	}
	prefix.At = at
	p.addRecords(prefix)
}

// restoreLimits restores the budget of the session and applies what this run changes.
func (p *transition) restoreLimits(at time.Time) {
	s := &p.state
	if b := s.session.Budget; b != nil {
		s.limits = b.Limits
	}
	was := s.limits
	if s.limits = was.OverriddenBy(s.settings.limits); s.limits != was {
		p.addRecords(session.Budget{At: at, Limits: s.limits})
	}
}

// requestTarget returns the provider, API, account and model that requests go to.
func (s *state) requestTarget() handoff.Target {
	prefix := s.session.Prefix
	return handoff.Target{
		Provider: prefix.Provider, API: s.settings.api, Account: s.settings.account,
		Model: s.settings.entryOf(prefix.Provider, prefix.Model), Effort: prefix.Effort,
	}
}

// entryOf returns the catalogue entry of a model: that of the client's own
// catalogue if it has one, else ours. A model that is in neither, because a
// custom client serves it, gets an entry without flags.
func (s *settings) entryOf(provider, model string) catalog.Entry {
	if s.lookup != nil {
		if e, err := s.lookup(model); err == nil {
			return e
		}
	}
	if e, err := catalog.Lookup(model); err == nil {
		return e
	}
	if e, err := catalog.Unlisted(model); err == nil {
		return e
	}
	return catalog.Uncatalogued(provider, model)
}

// openConversation stores what the run begins with and calls the model. A
// developer message follows the user's message or results, never a reply. So
// when a paused reply goes on without a prompt, the model does not learn about
// changes.
func (p *transition) openConversation(at time.Time) {
	o := p.state.pending
	p.state.pending = nil
	if p.state.settings.compactOnly {
		p.startCompaction(at, "asked for")
		return
	}
	prompted := strings.TrimSpace(o.prompt) != ""
	if prompted {
		m := transcript.User(o.prompt)
		m.Parts = p.state.settings.attachments
		p.addMessage(at, m)
		p.state.mayForceTool = true
	}
	if last := lastSaid(p.state.session.Messages); o.changes != nil && last != nil &&
		last.Role != transcript.RoleAssistant {
		p.addSettingsChange(at, o.changes)
		prompted = true
	}
	if prompted {
		p.addCheckpoint(at, session.ReasonPrompt)
	}
	if s := &p.state; !prompted && s.hasOpenOperations() && !canContinue(s.session.Messages) {
		s.answered = true
		p.waitForOperations(at)
		return
	}
	p.callModel(at)
}

// lastSaid returns the last message that says something, nil if there is none. A
// reply that was interrupted before anything could be kept of it says nothing.
func lastSaid(messages []transcript.Message) *transcript.Message {
	for i := range slices.Backward(messages) {
		if m := &messages[i]; m.Role != transcript.RoleAssistant || len(m.Blocks) > 0 ||
			m.StopReason != transcript.StopAborted {
			return m
		}
	}
	return nil
}

// canContinue reports whether the model can go on without a new prompt: there is
// something to answer, or it paused.
func canContinue(messages []transcript.Message) bool {
	last := lastSaid(messages)
	if last == nil {
		return false
	}
	switch last.Role {
	case transcript.RoleUser, transcript.RoleToolResults, transcript.RoleDeveloper:
		return true
	case transcript.RoleAssistant:
		return last.StopReason == transcript.StopPauseTurn
	default: // RoleSystem asks nothing
		return false
	}
}
