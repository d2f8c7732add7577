package agent

import (
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// maxPauses is how often in a row a pause_turn is answered by sending the
// conversation again (DESIGN §3.13).
const maxPauses = 5

// step says what follows from in. It is pure.
func step(s state, in input) (state, []effect) {
	switch in := in.(type) {
	case begin:
		return s.begin(in)
	case replied:
		return s.replied(in)
	case answered:
		return s.answered(in)
	case failed:
		return s.finish(in.err)
	}
	panic("agent: unknown input")
}

// plan collects records for one save while it applies them to the state.
type plan struct {
	state   state
	records []session.Record
	err     error
}

func (p *plan) add(records ...session.Record) {
	if p.err == nil {
		p.state.session, p.err = p.state.session.With(records...)
		p.records = append(p.records, records...)
	}
}

func (p *plan) message(at time.Time, m transcript.Message) {
	p.add(session.Entry{At: at, Message: m})
}

func (p *plan) checkpoint(at time.Time, reason session.Reason) {
	p.add(session.Checkpoint{At: at, Reason: reason})
}

// then returns the state with the records saved, followed by what next says.
func (p *plan) then(next func(state) (state, []effect)) (state, []effect) {
	if p.err != nil {
		return p.state.finish(p.err)
	}
	s, effects := next(p.state)
	if len(p.records) > 0 {
		effects = append([]effect{save{p.records}}, effects...)
	}
	return s, effects
}

// begin makes the prompt durable and calls the model. Calls that a crash left
// without an answer are closed first, truthfully, and never run again (E9,
// H13).
func (s state) begin(in begin) (state, []effect) {
	p := plan{state: s}
	p.prefix(in.at)
	p.add(marksAt(s.settings.marks, in.at)...)
	if open := dangling(p.state.session.Messages); len(open) > 0 {
		p.message(in.at, transcript.ToolResults(open...))
		p.checkpoint(in.at, session.ReasonToolResults)
	}
	if prompt := strings.ToValidUTF8(in.prompt, "\uFFFD"); strings.TrimSpace(prompt) != "" {
		p.message(in.at, transcript.User(prompt))
		p.checkpoint(in.at, session.ReasonPrompt)
	} else if !continues(p.state.session.Last()) {
		return s.finish(ErrNothingToContinue)
	}
	return p.then(state.call)
}

// prefix stores what goes ahead of the messages, once. A stored session goes on
// with what it was started with (DESIGN §3.5); only the effort, which no token
// is bound to, may change.
func (p *plan) prefix(at time.Time) {
	prefix, stored := p.state.settings.prefix, p.state.session.Prefix
	switch {
	case stored == nil:
		prefix.Hash, p.err = session.Digest(prefix.System, prefix.Tools, nil)
	case prefix.Effort == "" || prefix.Effort == stored.Effort:
		return
	default:
		effort := prefix.Effort
		prefix = *stored
		prefix.Effort = effort
	}
	prefix.At = at
	p.add(prefix)
}

func marksAt(marks []session.Mark, at time.Time) []session.Record {
	var records []session.Record
	for _, m := range marks {
		m.At = at
		records = append(records, m)
	}
	return records
}

// call sends the conversation, if the run may go on and the part of it that was
// sent before has not changed.
func (s state) call() (state, []effect) {
	if s.turns >= s.settings.maxTurns {
		return s.finish(&TurnLimitError{Limit: s.settings.maxTurns})
	}
	req := s.request()
	hash, err := guard(&req, s.session.Calls)
	if err != nil {
		return s.finish(err)
	}
	s.turns++
	s.text = ""
	s.sent = sent{len(req.Messages), hash}
	return s, []effect{call{req}}
}

func (s *state) request() provider.Request {
	prefix := s.session.Prefix
	return provider.Request{
		Model:           prefix.Model,
		System:          prefix.System,
		Tools:           slices.Clone(prefix.Tools),
		Messages:        slices.Clone(s.session.Messages),
		Effort:          prefix.Effort,
		MaxOutputTokens: s.settings.maxOutputTokens,
		Temperature:     s.settings.temperature,
		Unary:           s.settings.unary,
		Account:         s.settings.account,
	}
}

// guard returns the digest of req, or *PrefixError if req does not begin with
// exactly what the last call sent (R44, reference A-41).
func guard(req *provider.Request, calls []session.Call) (string, error) {
	if n := len(calls); n > 0 {
		last := calls[n-1]
		if last.Sent > len(req.Messages) {
			return "", &PrefixError{Turn: last.Turn}
		}
		was, err := session.Digest(req.System, req.Tools, req.Messages[:last.Sent])
		if err != nil {
			return "", err
		}
		if was != last.Hash {
			return "", &PrefixError{Turn: last.Turn}
		}
	}
	return session.Digest(req.System, req.Tools, req.Messages)
}

// replied keeps the reply if it can be kept and does what it asks for.
func (s state) replied(in replied) (state, []effect) {
	r := &in.reply
	v := judge(&r.Message)
	s.stop, s.text = r.Message.StopReason, ""
	if r.UsageKnown {
		s.usage.Add(r.Usage)
	}
	p := plan{state: s}
	if v.keep {
		p.message(in.at, r.Message)
		p.state.text = answer(p.state.session.Messages)
	}
	p.add(s.record(in, v.keep))
	if v.keep {
		p.checkpoint(in.at, session.ReasonAssistant)
	}
	return p.follow(in.at, v, &r.Message)
}

// record is the usage record of the call that ended.
func (s *state) record(in replied, kept bool) session.Call {
	c := session.Call{
		At: in.at, Turn: len(s.session.Calls) + 1,
		Provider: s.session.Prefix.Provider, Model: s.session.Prefix.Model,
		Sent: s.sent.messages, Hash: s.sent.hash,
		ResponseID: in.reply.ResponseID, StopReason: in.reply.Message.StopReason,
		Discarded: !kept,
	}
	if in.reply.UsageKnown {
		c.Usage = &in.reply.Usage
	}
	return c
}

// follow does what the verdict on the reply says.
func (p *plan) follow(at time.Time, v verdict, m *transcript.Message) (state, []effect) {
	calls := slices.Collect(m.ToolCalls())
	switch v.next {
	case nextTools:
		p.state.pauses = 0
		return p.then(func(s state) (state, []effect) { return s, []effect{dispatch{calls}} })
	case nextCall:
		p.state.pauses++
		return p.then(state.resend)
	case nextFinish: // below
	}
	if v.keep && len(calls) > 0 {
		p.message(at, transcript.ToolResults(refuse(calls, v.why)...))
		p.checkpoint(at, session.ReasonToolResults)
	}
	if v.keep || v.err == nil {
		p.checkpoint(at, session.ReasonCompleted)
	}
	return p.then(func(s state) (state, []effect) { return s.finish(v.err) })
}

// resend answers a pause by sending the conversation as it stands.
func (s state) resend() (state, []effect) {
	if s.pauses > maxPauses {
		return s.finish(&StopError{Stop: transcript.StopPauseTurn, Detail: "the model paused too often in a row; resume to let it go on"})
	}
	return s.call()
}

// answered makes the results durable and calls the model with them.
func (s state) answered(in answered) (state, []effect) {
	s.tools += len(in.results)
	p := plan{state: s}
	p.message(in.at, transcript.ToolResults(in.results...))
	p.checkpoint(in.at, session.ReasonToolResults)
	return p.then(state.call)
}

func (s state) finish(err error) (state, []effect) { return s, []effect{finish{err}} }

func refuse(calls []transcript.ToolCall, why string) []transcript.ToolResult {
	results := make([]transcript.ToolResult, len(calls))
	for i, c := range calls {
		results[i] = tool.NotExecuted(c.ID, why)
	}
	return results
}
