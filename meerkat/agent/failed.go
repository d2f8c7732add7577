package agent

import (
	"errors"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// handleFailure makes the whole call again if that may help. Nothing of the
// broken reply is kept, and none of its tools has run. When the user interrupted
// the reply, what is complete of it is kept.
func (p *transition) handleFailure(in failureInput) {
	s := &p.state
	switch in.cause {
	case causeUser:
		p.handleInterruption(in, transcript.StopAborted, errCancelled(in.cause, p.describeActivity()))
		return
	case causeLate:
		p.handleInterruption(in, transcript.StopCancelled, errCancelled(in.cause, p.describeActivity()))
		return
	case causeBudget:
		p.handleInterruption(in, transcript.StopCancelled, s.timeBudgetError(in.at))
		return
	case causeNone: // below
	}
	if in.shown {
		p.emitEvent(Event{Type: StreamReset})
	}
	p.addFailedCall(in, "", ErrorKind(in.err))
	if !s.current.request.Compact && p.handleRefusal(in) {
		return
	}
	var failure *provider.Error
	if errors.As(in.err, &failure) {
		delay, retry := s.settings.retry.Next(s.current.attempt, failure, in.random)
		if left := s.timeLeft(in.at); retry && (left == 0 || delay < left) {
			s := &p.state
			ms := delay.Milliseconds()
			p.emitEvent(Event{
				Type: Retrying, MaxAttempts: s.settings.retry.MaxRetries + 1, DelayMS: &ms,
				Error: in.err.Error(), ErrorKind: ErrorKind(in.err),
			})
			s.phase = phaseWaiting
			p.addLastEffect(waitEffect{delay, s.timeLeft(in.at)})
			return
		}
	}
	if s.compactReason != "" {
		p.handleUncompacted(in.at, in.err)
		return
	}
	p.finishRun(in.at, in.err)
}

func (p *transition) describeActivity() string {
	if p.state.compactReason != "" {
		return "while the conversation was summarised"
	}
	return "while the model was answering"
}

// timeBudgetError returns the error of a run whose time budget is spent.
func (s *state) timeBudgetError(at time.Time) error {
	spent := s.spentAt(at)
	spent.Elapsed = max(spent.Elapsed, s.limits.MaxDuration)
	only := session.Limits{MaxDuration: s.limits.MaxDuration}
	return only.Exceeded(spent)
}

// handleWaited makes the same call again.
func (p *transition) handleWaited(at time.Time) {
	p.state.current.attempt++
	if p.checkBudgetAndWarn(at); p.hasEnded() {
		return
	}
	p.sendRequest(at)
}

// handleInterruption ends the run in the middle of a reply. The complete blocks
// and the text are kept (interrupted-reply). The calls are closed: none of them
// has run. When the user interrupts, the reply is kept even if nothing of it can
// be, because it shows that and where the user did so.
func (p *transition) handleInterruption(in failureInput, stop transcript.StopReason, err error) {
	s := &p.state
	if s.compactReason != "" {
		p.addFailedCall(in, stop, ErrorKind(err))
		p.emitEvent(Event{
			Type: CompactionCompleted, Reason: s.compactReason, Error: err.Error(), ErrorKind: ErrorKind(err),
		})
		p.finishRun(in.at, err)
		return
	}
	m := transcript.Assistant(stop, completeBlocks(in.blocks)...)
	s.stopReason = stop
	if len(m.Blocks) == 0 || hasRepeatedCallID(&m) {
		if in.shown {
			p.emitEvent(Event{Type: StreamReset})
		}
		if in.cause == causeUser {
			p.addMessage(in.at, transcript.Assistant(stop))
		}
		p.addFailedCall(in, stop, ErrorKind(err))
		p.finishRun(in.at, err)
		return
	}
	p.addMessage(in.at, m)
	s.text = visibleText(s.session.Messages)
	p.emitContents(&m)
	p.emitEvent(Event{Type: TurnCompleted, StopReason: stop, Usage: in.usage})
	p.countUsage(in.usage)
	s.callsAnswered++
	record := s.callRecord(in.at, stop)
	record.Usage = in.usage
	p.addRecords(record)
	p.addCheckpoint(in.at, session.ReasonAssistant)
	if calls := slices.Collect(m.ToolCalls()); len(calls) > 0 {
		p.refuseAllCalls(in.at, calls, brokenOff, resultStatus(in.cause))
	}
	p.finishRun(in.at, err)
}

// resultStatus returns the status of a result. Only calls that the user
// interrupted have one.
func resultStatus(c cause) transcript.ResultStatus {
	if c == causeUser {
		return transcript.ResultAborted
	}
	return ""
}

// completeBlocks returns the blocks of a broken reply that can stand alone.
// Thoughts and provider-specific blocks at the end are left out: they belong to
// something that never arrived.
func completeBlocks(blocks []transcript.Block) []transcript.Block {
	n := len(blocks)
	for n > 0 && blocks[n-1].Type != transcript.BlockText && blocks[n-1].Type != transcript.BlockToolUse {
		n--
	}
	return blocks[:n]
}
