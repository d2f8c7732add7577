package agent

import (
	"errors"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// failed makes the call again if that may help, as a whole: nothing of a broken
// reply is kept, and no tool of it has run (DESIGN §3.11). What a user
// interrupts is kept as far as it is complete.
func (p *plan) failed(in failed) {
	s := &p.state
	switch in.cause {
	case causeUser:
		p.interrupted(in, transcript.StopAborted, errCancelled(in.cause, p.during()))
		return
	case causeLate:
		p.interrupted(in, transcript.StopCancelled, errCancelled(in.cause, p.during()))
		return
	case causeBudget:
		p.interrupted(in, transcript.StopCancelled, s.outOfTime(in.at))
		return
	case causeNone: // below
	}
	if in.shown {
		p.tell(Event{Type: StreamReset})
	}
	if p.overflowed(in) {
		return
	}
	var failure *provider.Error
	if errors.As(in.err, &failure) {
		delay, retry := s.settings.retry.Next(s.sent.attempt, failure, in.random)
		if left := s.left(in.at); retry && (left == 0 || delay < left) {
			p.retry(in, delay)
			return
		}
	}
	if s.compacting != "" {
		p.notSummarised(in.at, in.err)
		return
	}
	p.finish(in.at, in.err)
}

func (p *plan) during() string {
	if p.state.compacting != "" {
		return "while the conversation was summarised"
	}
	return "while the model was answering"
}

// outOfTime is the error of a run that its time budget has ended.
func (s *state) outOfTime(at time.Time) error {
	spent := s.spent(at)
	spent.Elapsed = max(spent.Elapsed, s.limits.MaxDuration)
	only := session.Limits{MaxDuration: s.limits.MaxDuration}
	return only.Exceeded(spent)
}

func (p *plan) retry(in failed, delay time.Duration) {
	s := &p.state
	ms := delay.Milliseconds()
	p.tell(Event{Type: Retrying, MaxAttempts: s.settings.retry.MaxRetries + 1, Error: in.err.Error(), ErrorKind: kindOf(in.err), DelayMS: &ms})
	s.phase = phaseWaiting
	p.do(wait{delay, s.left(in.at)})
}

// again makes the same call once more.
func (p *plan) again(at time.Time) {
	p.state.sent.attempt++
	if !p.within(at) {
		return
	}
	p.ask(at)
}

// interrupted ends the run in the middle of a reply. Its complete blocks and its
// text are kept (interrupted-reply) and its calls closed: none of them has run.
func (p *plan) interrupted(in failed, stop transcript.StopReason, err error) {
	s := &p.state
	if s.compacting != "" {
		p.tell(Event{Type: CompactionCompleted, Reason: s.compacting, Error: err.Error(), ErrorKind: kindOf(err)})
		p.finish(in.at, err)
		return
	}
	m := transcript.Assistant(stop, complete(in.blocks)...)
	if len(m.Blocks) == 0 || repeatsID(&m) {
		if in.shown {
			p.tell(Event{Type: StreamReset})
		}
		p.finish(in.at, err)
		return
	}
	s.stop = stop
	p.message(in.at, m)
	s.text = visible(s.session.Messages)
	p.contents(&m)
	p.tell(Event{Type: TurnCompleted, StopReason: stop})
	p.add(s.callRecord(in.at, stop))
	p.checkpoint(in.at, session.ReasonAssistant)
	if calls := slices.Collect(m.ToolCalls()); len(calls) > 0 {
		p.refuseAll(in.at, calls, brokenOff, resultStatus(in.cause))
	}
	p.finish(in.at, err)
}

// resultStatus marks results of calls that a user interrupted, and no others
// (seed 002).
func resultStatus(c cause) transcript.ResultStatus {
	if c == causeUser {
		return transcript.ResultAborted
	}
	return ""
}

// complete returns the blocks of a broken reply that can stand alone: thoughts
// and blocks of the provider's own at the end belong to what never came.
func complete(blocks []transcript.Block) []transcript.Block {
	n := len(blocks)
	for n > 0 && blocks[n-1].Type != transcript.BlockText && blocks[n-1].Type != transcript.BlockToolUse {
		n--
	}
	return blocks[:n]
}
