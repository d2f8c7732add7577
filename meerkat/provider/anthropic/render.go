package anthropic

import (
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/wire"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// API is the name of the Messages API in transcript.Origin.
const API = "messages"

// Render returns the body of POST /v1/messages for req and the model m. It is
// a pure function: same request, same bytes, and the messages of a longer
// conversation start with the bytes of the shorter one (R44). Tool arguments
// and what this origin made go out as they came in.
//
// A request that the API would refuse is an error: *wire.PairError,
// *wire.MessageError or *wire.RequestError. Temperature is left out where it
// is refused: while thinking and on models without it.
func Render(req *provider.Request, m catalog.Entry) ([]byte, error) {
	p, err := newPlan(req, m)
	if err != nil {
		return nil, err
	}
	return p.body(), nil
}

// plan is a request with everything decided that depends on more than one
// message.
type plan struct {
	wire.Writer
	req      *provider.Request
	target   wire.Target
	thinking bool
	budget   int
	tokens   int
	systems  []string
	turns    []turn
}

// turn is a step and what of its blocks is sent.
type turn struct {
	wire.Step
	keep []int // indices of the blocks of an assistant message
}

func newPlan(req *provider.Request, m catalog.Entry) (*plan, error) {
	if err := wire.Check(req, m); err != nil {
		return nil, err
	}
	steps, err := wire.Steps(req.Messages)
	if err != nil {
		return nil, err
	}
	p := &plan{
		req:      req,
		target:   wire.Target{Provider: catalog.Anthropic, API: API, Account: req.Account, Model: m},
		thinking: m.Thinks(req.Effort),
		tokens:   m.DefaultOutput,
	}
	if req.MaxOutputTokens > 0 {
		p.tokens = req.MaxOutputTokens
	}
	p.systems, steps = wire.Systems(req, steps)
	p.choose(steps)
	// A budget model wants the open tool loop to start with thinking. When
	// that was made elsewhere, thinking stays off until the loop is closed (H4).
	if p.thinking && m.Thinking == catalog.ThinkingBudget && !p.target.LoopThinks(req.Messages) {
		p.thinking = false
		p.choose(steps)
	}
	return p, p.check()
}

// choose decides which blocks are sent and leaves out messages that have none
//
func (p *plan) choose(steps []wire.Step) {
	p.turns = p.turns[:0]
	for _, s := range steps {
		t := turn{Step: s}
		if s.Message.Role == transcript.RoleAssistant {
			if t.keep = p.kept(s.Message); len(t.keep) == 0 {
				continue
			}
		}
		p.turns = append(p.turns, t)
	}
}

// kept returns the blocks of an assistant message that go to the wire: no
// blank text, no opaque block of another origin (H18), thinking only
// while thinking is on and never as the last block.
func (p *plan) kept(m *transcript.Message) []int {
	var keep []int
	last := transcript.BlockText
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Type {
		case transcript.BlockText:
			if wire.Blank(b.Text) {
				continue
			}
		case transcript.BlockReasoning:
			if !p.thinking || !p.signed(b) {
				continue
			}
		case transcript.BlockOpaque:
			if p.target.Raw(b) == nil {
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

// signed reports whether a thinking block can be replayed: made here and with
// its signature or data (A-35, H1, H7). Empty text is no reason to drop it
// (D-2).
func (p *plan) signed(b *transcript.Block) bool {
	return b.Meta != nil && (b.Meta.Signature != "" || b.Meta.Data != "") && p.target.Made(b)
}

// check refuses what only the whole request shows.
func (p *plan) check() error {
	m := p.target.Model
	if err := p.fitBudget(); err != nil {
		return err
	}
	if p.thinking && m.Thinking == catalog.ThinkingBudget && forced(p.req.ToolChoice) {
		return &wire.RequestError{Field: "tool choice", Reason: "a tool cannot be forced while thinking (A-26); use effort none or tool choice auto"}
	}
	if len(p.turns) == 0 {
		return &wire.RequestError{Field: "messages", Reason: "there is nothing to send; add a user message"}
	}
	if first := p.turns[0]; !asks(first.Message) {
		return &wire.MessageError{At: first.At, Reason: "the conversation must start with a user message (A-8)"}
	}
	for _, t := range p.turns {
		if asks(t.Message) && wire.Blank(t.Message.Content) && len(t.Message.Parts) == 0 {
			return &wire.MessageError{At: t.At, Reason: "it has no text (A-11)"}
		}
	}
	last := p.turns[len(p.turns)-1]
	if last.Message.Role == transcript.RoleAssistant && last.Message.StopReason != transcript.StopPauseTurn && (p.thinking || !m.Prefill) {
		return &wire.MessageError{At: last.At, Reason: fmt.Sprintf("%s takes no assistant message at the end (A-14); add a user message", m.Model)}
	}
	return nil
}

// asks reports whether a message is sent as the user's and is no result.
func asks(m *transcript.Message) bool {
	return m.Role == transcript.RoleUser || m.Role == transcript.RoleDeveloper || m.Role == transcript.RoleSystem
}

func forced(choice string) bool { return choice != "" && choice != "auto" && choice != "none" }

// minBudget is the smallest thinking budget.
const minBudget = 1024

// fitBudget sets the thinking budget: the one of the effort, at most half of
// the output, so that it stays below max_tokens and leaves room for the answer
//
func (p *plan) fitBudget() error {
	m := p.target.Model
	if m.Thinking != catalog.ThinkingBudget || !p.thinking {
		return nil
	}
	p.budget = min(m.Budgets[m.Effort(p.req.Effort)], p.tokens/2)
	if p.budget < minBudget {
		return &wire.RequestError{Field: "max output tokens", Reason: fmt.Sprintf("%d leave no room to think; use at least %d or effort none", p.tokens, 2*minBudget)}
	}
	return nil
}
