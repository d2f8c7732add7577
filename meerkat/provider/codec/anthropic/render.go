package anthropic

import (
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// requestWriter is a request with everything decided that depends on more than one
// message.
type requestWriter struct {
	jsontok.Writer
	provider.Outline
	thinking bool
	budget   int
	tokens   int
	turns    []turn
}

// turn is a step and what of its blocks is sent.
type turn struct {
	provider.Step
	keep []int // indices of the blocks of an assistant message
}

func newRequestWriter(req *provider.Request, m catalog.Entry) (*requestWriter, error) {
	outline, err := provider.Prepare(req, m)
	if err != nil {
		return nil, err
	}
	w := &requestWriter{Outline: outline, thinking: outline.Thinks(), tokens: m.DefaultOutput}
	if req.MaxOutputTokens > 0 {
		w.tokens = req.MaxOutputTokens
	}
	w.chooseTurns()
	// A budget model wants the open tool loop to start with thinking.
	// When that was made elsewhere, thinking stays off until the loop is closed
	// (open-tool-loop).
	if w.thinking && m.Thinking == catalog.ThinkingBudget && !w.Target.LoopThinks(req.Messages) {
		w.thinking = false
		w.chooseTurns()
	}
	return w, w.checkTurns()
}

// chooseTurns decides which blocks are sent and leaves out messages that have none
//
func (w *requestWriter) chooseTurns() {
	w.turns = w.turns[:0]
	for i, s := range w.Steps {
		t := turn{Step: s}
		if s.Message.Role == transcript.RoleAssistant {
			if t.keep = w.blocksToSend(s.Message, i == len(w.Steps)-1); len(t.keep) == 0 {
				continue
			}
		}
		w.turns = append(w.turns, t)
	}
}

// blocksToSend returns the blocks of an assistant message that go to the wire: no
// blank text, no opaque block of another origin (foreign-block), thinking only
// while thinking is on and never as the last block.
func (w *requestWriter) blocksToSend(m *transcript.Message, final bool) []int {
	var keep []int
	last := transcript.BlockText
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Type {
		case transcript.BlockText:
			if !w.sendsText(m, i, final) {
				continue
			}
		case transcript.BlockReasoning:
			if !w.thinking || !w.isReplayableThinking(b) {
				continue
			}
		case transcript.BlockOpaque:
			if w.Target.Raw(b) == nil {
				continue
			}
		case transcript.BlockToolUse: // always goes
		}
		keep, last = append(keep, i), b.Type
	}
	if last != transcript.BlockReasoning {
		return keep
	}
	visible := keep[:0]
	for _, i := range keep {
		if m.Blocks[i].Type != transcript.BlockReasoning {
			visible = append(visible, i)
		}
	}
	return visible
}

// sendsCompaction reports whether one of the blocks to send is a compaction.
func (w *requestWriter) sendsCompaction() bool {
	return slices.ContainsFunc(w.turns, func(t turn) bool {
		return slices.ContainsFunc(t.keep, func(i int) bool { return t.Message.Blocks[i].IsCompaction() })
	})
}

// sendsText reports whether a text block goes back. White space that the API issued
// does, but not before thinking, which must come first, and not at the end of a
// request.
func (w *requestWriter) sendsText(m *transcript.Message, i int, final bool) bool {
	if !provider.IsBlank(m.Blocks[i].Text) {
		return true
	}
	if final || !w.Target.TakesText(&m.Blocks[i]) {
		return false
	}
	for k := range m.Blocks {
		isBlank := m.Blocks[k].Type == transcript.BlockText && provider.IsBlank(m.Blocks[k].Text)
		if !isBlank {
			return k < i || m.Blocks[k].Type != transcript.BlockReasoning
		}
	}
	return true
}

// isReplayableThinking reports whether a thinking block can be replayed: made
// here and with its signature or data (A-35, other-account, unsigned-thinking).
// Empty text is no reason to drop it.
func (w *requestWriter) isReplayableThinking(b *transcript.Block) bool {
	return b.Meta != nil && (b.Meta.Signature != "" || b.Meta.Data != "") && w.Target.Made(b)
}

// checkTurns refuses what only the whole request shows.
func (w *requestWriter) checkTurns() error {
	m := w.Target.Model
	if err := w.fitBudget(); err != nil {
		return err
	}
	if w.thinking && m.Thinking == catalog.ThinkingBudget && forcesTool(w.ToolChoice) {
		return &provider.RequestError{
			Field:  "tool choice",
			Reason: "a tool cannot be forced while thinking (A-26); use effort none or tool choice auto",
		}
	}
	if len(w.turns) == 0 {
		return &provider.RequestError{Field: "messages", Reason: "there is nothing to send; add a user message"}
	}
	if first := w.turns[0]; !isUserTurn(first.Message) {
		return &provider.MessageError{At: first.At, Reason: "the conversation must start with a user message (A-8)"}
	}
	for _, t := range w.turns {
		if isUserTurn(t.Message) && provider.IsBlank(t.Message.Content) && len(t.Message.Parts) == 0 {
			return &provider.MessageError{At: t.At, Reason: "it has no text (A-11)"}
		}
	}
	last := w.turns[len(w.turns)-1]
	if last.Message.Role == transcript.RoleAssistant && last.Message.StopReason != transcript.StopPauseTurn &&
		(w.thinking || !m.Prefill) {
		return &provider.MessageError{
			At:     last.At,
			Reason: fmt.Sprintf("%s takes no assistant message at the end (A-14); add a user message", m.Model),
		}
	}
	return nil
}

// isUserTurn reports whether a message is sent as the user's and is not a result.
func isUserTurn(m *transcript.Message) bool {
	return m.Role == transcript.RoleUser || m.Role == transcript.RoleDeveloper || m.Role == transcript.RoleSystem
}

func forcesTool(choice string) bool { return choice != "" && choice != "auto" && choice != "none" }

// minBudget is the smallest thinking budget.
const minBudget = 1024

// fitBudget sets the thinking budget: the one of the effort, at most half of
// the output, so that it stays below max_tokens and leaves room for the answer
//
func (w *requestWriter) fitBudget() error {
	m := w.Target.Model
	if m.Thinking != catalog.ThinkingBudget || !w.thinking {
		return nil
	}
	w.budget = min(m.Budgets[m.Effort(w.Effort)], w.tokens/2)
	if w.budget < minBudget {
		return &provider.RequestError{
			Field:  "max output tokens",
			Reason: fmt.Sprintf("%d leave no room to think; use at least %d or effort none", w.tokens, 2*minBudget),
		}
	}
	return nil
}
