package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Compaction says when and how a conversation is compacted. Where the catalogue says
// that the provider can, it is asked to with the next call: its compaction is a block of
// the reply that goes back as it came. Otherwise, and for [Compact], a provider that
// compacts on demand returns a window that takes the place of the conversation; for all
// others the session's own model writes a summary. In all cases the messages that are
// replaced stay in the store.
type Compaction struct {
	// Threshold is the share of the context window, from 0 to 1. When it is used
	// up, the conversation is compacted with the next call, or summarised before
	// it. A run with a threshold also summarises when the provider says that the
	// conversation is too long. 0: never. 0.8 leaves room for a reply and the
	// results of its tools.
	Threshold float64
	// Window is the context window in tokens. 0: the catalogue's; without one
	// the run never summarises by itself.
	Window int
	// Keep is how many tokens of the conversation, about, are sent verbatim next
	// to the summary. 0: a tenth of the window, or DefaultKeep when the window
	// is unknown. It is never more than half of the conversation.
	Keep int
	// Prompt asks for the summary, and no provider for a window. Empty:
	// DefaultCompactionPrompt.
	Prompt string
}

// DefaultKeep is Compaction.Keep where no window is known, in tokens.
const DefaultKeep = 20_000

// DefaultCompactionPrompt asks the model to keep the user's words first, then
// what tools found, then what was answered.
const DefaultCompactionPrompt = `Summarise the conversation above so that it can be continued from your summary alone. Do not call tools and do not continue the work. In this order of importance, keep:
1. what the user asked for, with every constraint, correction and decision, in the user's own words where they matter;
2. what the tools found and did: names, paths, numbers, errors and their state now;
3. what you answered and promised, and which steps remain;
4. the reasons behind decisions, briefly.
Write nothing else.`

// bytesPerToken estimates tokens from sizes where no provider has counted them.
const bytesPerToken = 4

// needsSummary reports whether the conversation must be summarised before it is sent
// again.
func (s *state) needsSummary() bool {
	return !s.compactionFailed && s.fillsItsShare() && s.providerThreshold() == 0
}

// fillsItsShare reports whether the conversation uses up its share of the window. Right
// after a summary its length is unknown, until the next call returns; right after a
// compaction of the provider's it is estimated.
func (s *state) fillsItsShare() bool {
	c := s.settings.compaction
	window := s.contextWindow()
	calls := s.session.Calls
	if c.Threshold <= 0 || window == 0 || len(calls) == 0 {
		return false
	}
	last := calls[len(calls)-1]
	through := s.compactedThrough()
	if last.Sent < through || last.Discarded && last.Sent == through {
		return false // it was sent before the summary, or asked without success for a window
	}
	compacted := s.providerCompactedAt()
	used, from := uint64(0), max(through, compacted)
	if last.Usage != nil && last.Sent > compacted {
		used, from = totalTokens(last.Provider, *last.Usage), last.Sent
		if !last.Discarded {
			from = min(from+1, len(s.session.Messages))
		}
	}
	for i := range s.session.Messages[from:] {
		used += uint64(estimateTokens(&s.session.Messages[from+i])) //nolint:gosec // not negative
	}
	return float64(used) >= c.Threshold*float64(window)
}

func (s *state) contextWindow() int {
	return cmp.Or(s.settings.compaction.Window, s.target.Model.ContextWindow)
}

// lastCompaction returns the compaction that begins what the target gets, nil if there is
// none: another provider's window is none.
func (s *state) lastCompaction() *session.Compaction {
	h := s.session.History()
	if i := h.LastCompaction(s.target); i >= 0 {
		return &s.session.Compactions[i]
	}
	return nil
}

// compactedThrough returns how many messages the last summary or window covers.
func (s *state) compactedThrough() int {
	if c := s.lastCompaction(); c != nil {
		return c.Through
	}
	return 0
}

// startCompaction asks for a window or a summary if one can help.
func (p *transition) startCompaction(at time.Time, reason string) {
	p.flushRecords()
	if p.state.settings.compactOnly {
		if p.checkBudgetAndWarn(at); p.hasEnded() {
			return
		}
	}
	p.state.compactReason, p.state.current = reason, currentCall{attempt: 1}
	p.emitEvent(Event{Type: CompactionStarted, Reason: reason})
	if kept := p.state.messagesToKeep(); len(kept) == len(unitIndices(p.state.retentionUnits())) {
		p.handleNoSummary(at, &NotSmallerError{Detail: "there is nothing that a summary could replace"})
		return
	}
	if p.state.wantsWindow() {
		p.requestWindow(at)
		return
	}
	p.requestSummary(at)
}

// requestSummary sends the conversation with one message appended, so that the
// request shares the prefix and its cache. It sends a part of the conversation
// if the whole is too long.
func (p *transition) requestSummary(at time.Time) {
	s := &p.state
	h := s.session.History()
	prompt := cmp.Or(s.settings.compaction.Prompt, DefaultCompactionPrompt)
	h.Messages = append(slices.Clip(h.Messages), transcript.User(prompt))
	if s.truncatedHistory {
		h.Compactions = append(h.Compactions, s.truncatedView())
	}
	degraded, err := s.prepareCall(h)
	if err != nil {
		p.finishRun(at, err)
		return
	}
	if len(s.current.request.Tools) > 0 {
		s.current.request.ToolChoice = "none"
	}
	s.current.request.OutputSchema, s.current.request.StopSequences = nil, nil // they are for answers
	p.reportDegradations(degraded)
	p.sendRequest(at)
}

// summaryHead introduces the summary, which is sent as a message of the user.
const summaryHead = "The conversation so far has been summarised, partly left out. The summary:\n\n"

// errNoSummary says that the model did not write a summary.
var errNoSummary = errors.New("the model wrote no summary")

// handleCompaction stores the summary or the window: one record, so that a crash leaves
// either the conversation as it was or the whole compaction.
func (p *transition) handleCompaction(in replyInput) {
	s := &p.state
	p.countUsage(usageOf(&in.reply))
	record, err := s.compactionOf(in)
	before, after := 0, 0
	if err == nil {
		before, after, err = s.compactedSizes(record)
	}
	// a larger window would soon be full again
	if err == nil && (after >= before || record.Window != nil && after > before/2) {
		err = &NotSmallerError{
			Detail: fmt.Sprintf("with the summary the next request would have %d bytes instead of %d", after, before),
		}
	}
	if err != nil {
		p.addRecords(s.replyRecord(in, false)) // it was paid for
		p.handleUncompacted(in.at, err)
		return
	}
	p.addRecords(record)
	p.flushRecords()
	text := strings.TrimPrefix(record.Summary, summaryHead)
	size := len(text)
	p.emitEvent(Event{
		Type: CompactionCompleted, Reason: s.compactReason, Size: &size, BytesBefore: before, BytesAfter: after,
		Usage: record.Usage,
	})
	s.compactReason, s.truncatedHistory, s.overflow = "", false, nil
	if s.settings.compactOnly {
		s.text, s.stopReason = text, in.reply.Message.StopReason
		p.addCheckpoint(in.at, session.ReasonCompleted)
		p.finishRun(in.at, nil)
		return
	}
	p.callModel(in.at)
}

// compactionOf returns the compaction that a reply is. A reply that is none is an error.
func (s *state) compactionOf(in replyInput) (session.Compaction, error) {
	c := session.Compaction{
		At: in.at, Through: len(s.session.Messages), Reason: s.compactReason, Usage: usageOf(&in.reply),
	}
	m := &in.reply.Message
	if s.current.request.Compact {
		window, err := s.windowOf(m)
		c.Window = window
		return c, err
	}
	text := strings.TrimSpace(m.String())
	if text == "" || m.StopReason != transcript.StopEndTurn && m.StopReason != transcript.StopStopSequence {
		return c, fmt.Errorf("%w: stop reason %q", errNoSummary, m.StopReason)
	}
	c.Summary, c.Kept = summaryHead+text, s.messagesToKeep()
	return c, nil
}

// NotSmallerError says that a compaction would not make the next request smaller.
// The session is as it was.
type NotSmallerError struct{ Detail string }

// Error says why.
func (e *NotSmallerError) Error() string {
	return "the session is not compacted, because that would not make it smaller: " + e.Detail
}

// compactedSizes returns the bytes of the request that goes on with the session as
// it is, and with a compaction.
func (s *state) compactedSizes(c session.Compaction) (before, after int, err error) {
	if before, err = s.requestSize(&s.session); err != nil {
		return 0, 0, err
	}
	compacted, err := s.session.With(c)
	if err != nil {
		return 0, 0, err
	}
	after, err = s.requestSize(&compacted)
	return before, after, err
}

// requestSize returns the bytes of the request that goes on with a session as the
// client renders it, or those of its messages in stored form if it does not.
func (s *state) requestSize(of *session.Session) (int, error) {
	req, _, err := s.buildRequest(of.History())
	if err != nil {
		return 0, err
	}
	var body []byte
	if s.settings.render != nil {
		body, err = s.settings.render(&req)
	}
	if err != nil || len(body) > 0 {
		return len(body), err
	}
	for i := range req.Messages {
		if body, err = req.Messages[i].AppendJSON(body); err != nil {
			return 0, err
		}
	}
	return len(body), nil
}

// handleUncompacted asks for a summary where the provider returned no window. Without a
// summary the run goes on as it can.
func (p *transition) handleUncompacted(at time.Time, err error) {
	if p.state.current.request.Compact {
		p.state.windowFailed = true
		p.requestSummary(at)
		return
	}
	p.handleNoSummary(at, err)
}

// handleNoSummary continues with the conversation as it is. That may still fit, unless
// the provider has said that it does not. Where no summary can help, what was added last
// is left out.
func (p *transition) handleNoSummary(at time.Time, err error) {
	s := &p.state
	p.emitEvent(Event{
		Type: CompactionCompleted, Reason: s.compactReason, Error: err.Error(), ErrorKind: ErrorKind(err),
	})
	s.compactReason, s.compactionFailed = "", true
	switch {
	case s.settings.compactOnly:
		p.finishRun(at, err)
	case s.overflow != nil:
		if isTooLong(err) || errors.As(err, new(*NotSmallerError)) {
			p.quarantine(*s.overflow)
		}
		p.finishRun(at, s.overflow.err)
	default:
		p.callModel(at)
	}
}
