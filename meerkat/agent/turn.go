package agent

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/repair"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// maxPauses is how many pause_turn replies in a row are answered by sending the
// conversation again.
const maxPauses = 5

// callModel sends the conversation if the limits leave room for it. A conversation
// that has become too long is summarised first, unless the provider compacts it. An
// agent with operations, or one that is steered, asks for news before.
func (p *transition) callModel(at time.Time) {
	s := &p.state
	if (s.settings.operations || s.settings.steered) && !s.newsSeen {
		s.phase = phaseNews
		p.addLastEffect(newsEffect{})
		return
	}
	s.newsSeen = false
	if s.turns >= s.settings.maxTurns {
		p.finishRun(at, &TurnLimitError{Limit: s.settings.maxTurns})
		return
	}
	p.flushRecords()
	if p.checkBudgetAndWarn(at); p.hasEnded() {
		return
	}
	if s.isBudgetReserved(at) {
		p.waitForOperations(at)
		return
	}
	if s.needsSummary() {
		p.startCompaction(at, "the conversation fills its share of the context window")
		return
	}
	degraded, err := s.prepareCall(s.session.History())
	if err != nil {
		p.finishRun(at, err)
		return
	}
	s.turns++
	s.text = ""
	p.reportDegradations(degraded)
	p.emitEvent(Event{Type: TurnStarted, Provider: s.target.Provider, Model: s.target.Model.Model})
	p.sendRequest(at)
}

// sendRequest sends the prepared request.
func (p *transition) sendRequest(at time.Time) {
	p.state.phase = phaseCalling
	p.addLastEffect(callEffect{p.state.current.request, p.state.timeLeft(at), p.currentStamp()})
}

// reportDegradations reports what the provider does not get, each loss once.
func (p *transition) reportDegradations(all []handoff.Degradation) {
	s := &p.state
	for _, d := range all {
		if s.reportedDegradations[d] {
			continue
		}
		s.current.degraded = append(s.current.degraded, d)
	}
	if s.current.degraded == nil {
		return
	}
	told := make(map[handoff.Degradation]bool, len(s.reportedDegradations)+len(s.current.degraded))
	for d := range s.reportedDegradations {
		told[d] = true
	}
	for _, d := range s.current.degraded {
		told[d] = true
		s.degraded = append(slices.Clip(s.degraded), d)
		p.emitEvent(Event{Type: Degraded, Rule: d.Rule, Degradation: &d})
	}
	s.reportedDegradations = told
}

// prepareCall prepares the first attempt to send a conversation.
func (s *state) prepareCall(h handoff.History) (degraded []handoff.Degradation, err error) {
	s.current = currentCall{messages: len(s.session.Messages), attempt: 1}
	if s.current.request, degraded, err = s.buildRequest(h); err != nil {
		return degraded, err
	}
	s.current.hash, err = s.extendDigest(s.current.messages)
	return degraded, err
}

// buildRequest renders a conversation for the target.
func (s *state) buildRequest(h handoff.History) (provider.Request, []handoff.Degradation, error) {
	prefix := s.session.Prefix

	// Tools that the target does not take are a loss each.
	var lost []handoff.Degradation
	tools, problems := provider.FitTools(prefix.Tools, s.target.Model)
	for _, p := range problems {
		lost = append(lost, handoff.Degradation{
			Rule: handoff.RuleToolSchema, Message: -1, Block: -1, Reason: p.Error(),
		})
	}
	req := provider.Request{
		Model:           prefix.Model,
		System:          prefix.System,
		Tools:           tools,
		Effort:          prefix.Effort,
		MaxOutputTokens: s.settings.maxOutputTokens,
		Temperature:     s.settings.temperature,
		StopSequences:   s.settings.stopSequences,
		Unary:           s.settings.unary,
		OutputSchema:    s.settings.outputSchema,
		ToolChoice:      s.toolChoice(),
		CacheTTL:        s.settings.cacheTTL,
		CacheKey:        s.cacheKey(),
		CompactAt:       s.compactAt(),
		Account:         s.settings.account,
	}
	lost = append(lost, repair.Apply(&req, h.Repairs, s.target)...)
	target := s.target
	target.Effort = req.Effort
	t, err := handoff.Build(h, target)
	req.Messages = t.Messages
	if t.ThinkingOff && s.target.Model.Thinking == catalog.ThinkingBudget {
		req.Effort = "none"
	}
	return req, append(lost, t.Degraded...), err
}

// cacheKeyLength is how much of a digest names a conversation to the provider's cache.
const cacheKeyLength = 32

// cacheKey names what the conversation begins with: system prompt, tools and first
// message. It stays as long as the session, and is that of its forks, which begin alike.
func (s *state) cacheKey() string {
	if len(s.session.Messages) == 0 {
		return ""
	}
	digest, err := session.Extend(s.session.Prefix.Hash, s.session.Messages[0])
	if err != nil {
		return "" // a message that cannot be written is not sent either
	}
	_, sum, _ := strings.Cut(digest, ":")
	return sum[:min(len(sum), cacheKeyLength)]
}

// toolChoice returns which tool the model must call next. A tool is forced once for a
// prompt: as long as every request forces it, the model cannot answer.
func (s *state) toolChoice() string {
	choice := s.settings.toolChoice
	if !s.mayForceTool && choice != "auto" && choice != "none" {
		return ""
	}
	return choice
}

// handleReply keeps the reply if possible and does what it asks for.
func (p *transition) handleReply(in replyInput) {
	s := &p.state
	if s.compactReason != "" {
		p.handleCompaction(in)
		return
	}
	m := &in.reply.Message
	m.Role = transcript.RoleAssistant // whatever a client of one's own forgets
	p.countUsage(usageOf(&in.reply))
	s.noteAccount(in.reply.Account)
	s.stopReason, s.text = m.StopReason, ""
	v := judgeReply(m)
	p.reportReply(in, v.keep)
	if v.keep {
		// Report a compaction in the reply, and note when the provider was asked for one and made none.
		used := usageOf(&in.reply)
		threshold := s.current.request.CompactAt
		switch {
		case s.holdsCompaction(m):
			p.emitEvent(Event{Type: CompactionCompleted, Reason: providerCompacted})
		case threshold > 0 && used != nil &&
			totalTokens(s.target.Provider, *used)-used.OutputTokens > uint64(threshold):
			s.compactionIgnored = true
		}
		p.addMessage(in.at, *m)
		s.text = visibleText(s.session.Messages)
	}
	p.addRecords(s.replyRecord(in, v.keep))
	if v.keep {
		p.addCheckpoint(in.at, session.ReasonAssistant)
	}
	p.applyVerdict(in.at, v, m)
}

// countUsage adds up what a call used, nil if that is not known.
func (p *transition) countUsage(u *transcript.Usage) {
	if u != nil {
		p.state.usage.Add(*u)
		p.state.tokensUsed += totalTokens(p.state.target.Provider, *u)
	}
}

// usageOf returns what a reply used, nil if the provider did not say.
func usageOf(r *stream.Reply) *transcript.Usage {
	if !r.UsageKnown {
		return nil
	}
	return &r.Usage
}

// reportReply reports a reply. If it is not kept, what was shown of it becomes
// void.
func (p *transition) reportReply(in replyInput, kept bool) {
	m := &in.reply.Message
	switch {
	case kept:
		p.emitContents(m)
	case len(m.Blocks) > 0:
		p.emitEvent(Event{Type: StreamReset})
	}
	p.emitEvent(Event{
		Type: TurnCompleted, StopReason: m.StopReason, ResponseID: in.reply.ResponseID,
		RateLimits: in.reply.RateLimits, Usage: usageOf(&in.reply),
	})
}

// emitContents reports the blocks and calls of a reply.
func (p *transition) emitContents(m *transcript.Message) {
	if text := m.String(); text != "" {
		p.emitEvent(Event{Type: TextComplete, Content: text})
	}
	for c := range m.ToolCalls() {
		p.emitEvent(Event{Type: ToolCallRequested, ID: c.ID, Name: c.Name, Args: c.JSON()})
	}
}

// replyRecord is the usage record of a call that was answered.
func (s *state) replyRecord(in replyInput, kept bool) session.Call {
	s.callsAnswered++
	c := s.callRecord(in.at, in.reply.Message.StopReason)
	c.ResponseID, c.Discarded, c.Usage = in.reply.ResponseID, !kept, usageOf(&in.reply)
	return c
}

// addFailedCall counts and records a call that got no reply, if the provider had
// counted its tokens.
func (p *transition) addFailedCall(in failureInput, stop transcript.StopReason, kind string) {
	if in.usage == nil {
		return
	}
	p.countUsage(in.usage)
	c := p.state.callRecord(in.at, stop)
	c.Usage, c.Error, c.Discarded = in.usage, kind, true
	p.addRecords(c)
}

func (s *state) callRecord(at time.Time, stop transcript.StopReason) session.Call {
	return session.Call{
		At: at, RunID: s.runID, Turn: nextTurn(s.session.Calls), Attempt: s.current.attempt,
		Provider: s.session.Prefix.Provider, Model: s.session.Prefix.Model,
		Sent: s.current.messages, Hash: s.current.hash, StopReason: stop, Degraded: s.current.degraded,
	}
}

// nextTurn numbers the call that follows others. One that failed is an attempt at
// the same turn.
func nextTurn(calls []session.Call) int {
	if len(calls) == 0 {
		return 1
	}
	last := &calls[len(calls)-1]
	if last.Error != "" {
		return last.Turn
	}
	return last.Turn + 1
}

// applyVerdict acts on the verdict about the reply.
func (p *transition) applyVerdict(at time.Time, v verdict, m *transcript.Message) {
	s := &p.state
	calls := slices.Collect(m.ToolCalls())
	switch v.action {
	case nextTools:
		s.pauses, s.mayForceTool = 0, false
		s.batch = toolBatch{message: len(s.session.Messages) - 1, calls: calls, answers: make([]toolAnswer, len(calls))}
		p.dispatchTools(at)
		return
	case nextCall:
		s.pauses++
		p.resendPaused(at)
		return
	case nextFinish: // below
	}
	if v.keep && len(calls) > 0 {
		p.refuseAllCalls(at, calls, v.why, "")
	}
	if v.err == nil && s.hasOpenOperations() {
		s.answered = true
		p.waitForOperations(at)
		return
	}
	if v.keep || v.err == nil {
		p.addCheckpoint(at, session.ReasonCompleted)
	} else if errors.As(v.err, new(*RefusedError)) {
		p.quarantine(failureInput{at: at, err: v.err})
	}
	p.finishRun(at, v.err)
}

// refuseAllCalls answers the calls of the last reply. None of them will run.
func (p *transition) refuseAllCalls(at time.Time, calls []transcript.ToolCall, why string,
	status transcript.ResultStatus) {
	b := toolBatch{message: len(p.state.session.Messages) - 1, calls: calls}
	for _, c := range calls {
		a := toolAnswer{known: true, status: statusRefused, result: tool.NotExecuted(c.ID, why)}
		a.result.Status = status
		b.answers = append(b.answers, a)
	}
	p.state.batch = b
	p.addResults(at)
}

// resendPaused answers a pause by sending the conversation as it stands: nothing may come
// between the parts of a reply.
func (p *transition) resendPaused(at time.Time) {
	if p.state.pauses > maxPauses {
		p.finishRun(
			at,
			&StopError{
				Stop: transcript.StopPauseTurn, Detail: "the model paused too often in a row; resume to let it go on",
			},
		)
		return
	}
	p.state.newsSeen = true
	p.callModel(at)
}
