package agent

import (
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// maxPauses is how often in a row a pause_turn is answered by sending the
// conversation again (DESIGN §3.13).
const maxPauses = 5

// call sends the conversation, if limits and budget leave room for it; when it
// has become too long, it is summarised first.
func (p *plan) call(at time.Time) {
	s := &p.state
	if s.turns >= s.settings.maxTurns {
		p.finish(at, &TurnLimitError{Limit: s.settings.maxTurns})
		return
	}
	p.flush()
	if !p.within(at) {
		return
	}
	if s.full() {
		p.compact(at, "the conversation fills its share of the context window")
		return
	}
	degraded, err := s.prepare(s.session.History())
	if err != nil {
		p.finish(at, err)
		return
	}
	s.turns++
	s.text = ""
	p.degrade(degraded)
	p.tell(Event{Type: TurnStarted, Provider: s.target.Provider, Model: s.target.Model.Model})
	p.ask(at)
}

// ask makes the call under way.
func (p *plan) ask(at time.Time) {
	p.state.phase = phaseCalling
	p.do(call{p.state.sent.request, p.state.left(at), p.stamp()})
}

// degrade tells what the provider does not get, each loss once.
func (p *plan) degrade(all []handoff.Degradation) {
	s := &p.state
	for _, d := range all {
		if s.told[d] {
			continue
		}
		s.sent.degraded = append(s.sent.degraded, d)
	}
	if s.sent.degraded == nil {
		return
	}
	told := make(map[handoff.Degradation]bool, len(s.told)+len(s.sent.degraded))
	for d := range s.told {
		told[d] = true
	}
	for _, d := range s.sent.degraded {
		told[d] = true
		p.tell(Event{Type: Degraded, Rule: d.Rule, Degradation: &d})
	}
	s.told = told
}

// prepare makes the first attempt at a call with a conversation.
func (s *state) prepare(h handoff.History) (degraded []handoff.Degradation, err error) {
	s.sent = sent{messages: len(s.session.Messages), attempt: 1}
	if s.sent.request, degraded, err = s.request(h); err != nil {
		return degraded, err
	}
	s.sent.hash, err = s.digest(s.sent.messages)
	return degraded, err
}

// request renders a conversation for the target.
func (s *state) request(h handoff.History) (provider.Request, []handoff.Degradation, error) {
	prefix := s.session.Prefix
	t, err := handoff.Build(h, s.target)
	req := provider.Request{
		Model:           prefix.Model,
		System:          prefix.System,
		Tools:           slices.Clone(prefix.Tools),
		Messages:        t.Messages,
		Effort:          prefix.Effort,
		MaxOutputTokens: s.settings.maxOutputTokens,
		Temperature:     s.settings.temperature,
		Unary:           s.settings.unary,
		OutputSchema:    s.settings.outputSchema,
		CacheTTL:        s.settings.cacheTTL,
		Account:         s.settings.account,
	}
	if t.ThinkingOff && s.target.Model.Thinking == catalog.ThinkingBudget {
		req.Effort = "none"
	}
	return req, t.Degraded, err
}

// replied keeps the reply if it can be kept and does what it asks for.
func (p *plan) replied(in replied) {
	s := &p.state
	if s.compacting != "" {
		p.summarised(in)
		return
	}
	m := &in.reply.Message
	m.Role = transcript.RoleAssistant // whatever a client of one's own forgets
	p.spend(in)
	s.stop, s.text = m.StopReason, ""
	v := judge(m)
	p.report(in, v.keep)
	if v.keep {
		p.message(in.at, *m)
		s.text = visible(s.session.Messages)
	}
	p.add(s.record(in, v.keep))
	if v.keep {
		p.checkpoint(in.at, session.ReasonAssistant)
	}
	p.follow(in.at, v, m)
}

// spend counts what a reply took.
func (p *plan) spend(in replied) {
	if in.reply.UsageKnown {
		p.state.usage.Add(in.reply.Usage)
		p.state.tokens += tokensOf(p.state.target.Provider, in.reply.Usage)
	}
}

// report tells of a reply; what one has shown that is not kept is void.
func (p *plan) report(in replied, kept bool) {
	m := &in.reply.Message
	switch {
	case kept:
		p.contents(m)
	case len(m.Blocks) > 0:
		p.tell(Event{Type: StreamReset})
	}
	done := Event{Type: TurnCompleted, StopReason: m.StopReason, ResponseID: in.reply.ResponseID, RateLimits: in.reply.RateLimits}
	if in.reply.UsageKnown {
		done.Usage = &in.reply.Usage
	}
	p.tell(done)
}

// contents tells what a reply says and asks for.
func (p *plan) contents(m *transcript.Message) {
	if text := m.String(); text != "" {
		p.tell(Event{Type: TextComplete, Content: text})
	}
	for c := range m.ToolCalls() {
		p.tell(Event{Type: ToolCallRequested, ID: c.ID, Name: c.Name, Args: c.JSON()})
	}
}

// record is the usage record of the call that ended.
func (s *state) record(in replied, kept bool) session.Call {
	c := s.callRecord(in.at, in.reply.Message.StopReason)
	c.ResponseID, c.Discarded = in.reply.ResponseID, !kept
	if in.reply.UsageKnown {
		c.Usage = &in.reply.Usage
	}
	return c
}

func (s *state) callRecord(at time.Time, stop transcript.StopReason) session.Call {
	s.calls++
	return session.Call{
		At: at, RunID: s.runID, Turn: len(s.session.Calls) + 1, Attempt: s.sent.attempt,
		Provider: s.session.Prefix.Provider, Model: s.session.Prefix.Model,
		Sent: s.sent.messages, Hash: s.sent.hash, StopReason: stop, Degraded: s.sent.degraded,
	}
}

// follow does what the verdict on the reply says.
func (p *plan) follow(at time.Time, v verdict, m *transcript.Message) {
	s := &p.state
	calls := slices.Collect(m.ToolCalls())
	switch v.next {
	case nextTools:
		s.pauses = 0
		s.batch = batch{message: len(s.session.Messages) - 1, calls: calls, answers: make([]answer, len(calls))}
		p.dispatch(at)
		return
	case nextCall:
		s.pauses++
		p.resend(at)
		return
	case nextFinish: // below
	}
	if v.keep && len(calls) > 0 {
		p.refuseAll(at, calls, v.why, "")
	}
	if v.keep || v.err == nil {
		p.checkpoint(at, session.ReasonCompleted)
	}
	p.finish(at, v.err)
}

// refuseAll answers the calls of the last reply, none of which will run.
func (p *plan) refuseAll(at time.Time, calls []transcript.ToolCall, why string, status transcript.ResultStatus) {
	b := batch{message: len(p.state.session.Messages) - 1, calls: calls}
	for _, c := range calls {
		a := answer{known: true, status: refused, result: tool.NotExecuted(c.ID, why)}
		a.result.Status = status
		b.answers = append(b.answers, a)
	}
	p.state.batch = b
	p.conclude(at)
}

// resend answers a pause by sending the conversation as it stands.
func (p *plan) resend(at time.Time) {
	if p.state.pauses > maxPauses {
		p.finish(at, &StopError{Stop: transcript.StopPauseTurn, Detail: "the model paused too often in a row; resume to let it go on"})
		return
	}
	p.call(at)
}
