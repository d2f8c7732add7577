package handoff

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// completePairs puts the results of each reply right behind it, in the order of
// its calls, and closes the calls that have none. Messages between them follow
// the results; results that answer nothing are left out.
func (b *builder) completePairs(messages []placed) []placed {
	p := &pairing{builder: b, out: make([]placed, 0, len(messages))}
	for _, m := range messages {
		switch m.Role {
		case transcript.RoleToolResults:
			p.fileResults(m)
		case transcript.RoleAssistant:
			p.endReply()
			p.out = append(p.out, m)
			p.reply = m
			for c := range m.ToolCalls() {
				p.calls = append(p.calls, openCall{id: c.ID})
			}
		default:
			p.held = append(p.held, m)
		}
	}
	p.endReply()
	return p.out
}

// openCall is a call and its answer, nil before it has one.
type openCall struct {
	id     string
	answer *transcript.ToolResult
}

type pairing struct {
	*builder
	out    []placed
	held   []placed                         // what came since the last reply, without results
	reply  placed                           // the last one, if it makes calls
	calls  []openCall                       // of that reply, in order
	closed map[string]transcript.ToolResult // by call id, from the ledger
}

// fileResults files results under the open calls they answer.
func (p *pairing) fileResults(m placed) {
	for i := range m.Results {
		r := &m.Results[i]
		c := p.findCall(r.ToolUseID)
		late, closed := p.closed[r.ToolUseID]
		switch {
		case c == nil && closed && sameContent(late, *r):
		case c == nil:
			p.degrade(ruleOrphanResult, m.at, i, r.ToolUseID, "it answers no call of the reply before it")
		case c.answer == nil:
			c.answer = r
			p.checkResultParts(m.at, i, r)
		case !sameContent(*c.answer, *r):
			p.degrade(
				ruleOrphanResult, m.at, i, r.ToolUseID, "the call was answered before, and the first answer counts",
			)
		}
	}
}

// findCall returns the call of the last reply with an id, nil if it has none.
func (p *pairing) findCall(id string) *openCall {
	for i := range p.calls {
		if p.calls[i].id == id {
			return &p.calls[i]
		}
	}
	return nil
}

// sameContent reports whether two results say the same.
func sameContent(a, b transcript.ToolResult) bool {
	x, errA := a.AppendJSON(nil)
	y, errB := b.AppendJSON(nil)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// endReply ends a reply: its results, then what was held back.
func (p *pairing) endReply() {
	if len(p.calls) > 0 {
		all := make([]transcript.ToolResult, len(p.calls))
		for i, c := range p.calls {
			if c.answer != nil {
				all[i] = *c.answer
			} else {
				all[i] = p.closeCall(c.id)
			}
		}
		p.out = append(p.out, placed{Message: transcript.ToolResults(all...), at: p.reply.at})
	}
	p.out = append(p.out, p.held...)
	p.calls, p.held = p.calls[:0], p.held[:0]
}

// closeCall answers a call whose result is not in the conversation: with the result
// that the ledger kept, or with what it knows of the call.
func (p *pairing) closeCall(id string) transcript.ToolResult {
	e, known := p.history.Ledger.Lookup(p.reply.at, id)
	if known && e.Result != nil {
		r := *e.Result
		r.ToolUseID = id
		if p.closed == nil {
			p.closed = map[string]transcript.ToolResult{}
		}
		p.closed[id] = r
		return r
	}
	status := e.Status
	if !known {
		status = transcript.CallRunning // the worst case
	}
	closure := Closure(id, status)
	p.degrade(
		ruleOpenCall, p.reply.at, p.blockIndex(id), id, "it has no result; the model reads \""+closure.Content+"\"",
	)
	return closure
}

// blockIndex returns the index of a call in the reply as the history holds it, -1 if
// it holds no such call.
func (p *pairing) blockIndex(id string) int {
	if p.reply.at < 0 {
		return -1
	}
	blocks := p.history.Messages[p.reply.at].Blocks
	for i := range blocks {
		if blocks[i].Type == transcript.BlockToolUse && blocks[i].ID == id {
			return i
		}
	}
	return -1
}

// Closure is the result of a call that has none, by what is known of it. Its
// text is the same each time.
func Closure(callID string, s transcript.CallStatus) transcript.ToolResult {
	text := "interrupted: the tool may have run; check its effects before calling it again"
	switch s {
	case transcript.CallProposed:
		text = "not executed: the run ended before the tool was started"
	case transcript.CallCancelled:
		text = "not executed: the call was cancelled"
	case transcript.CallComplete:
		text = "the tool ran and returned, but its result was lost"
	case transcript.CallError:
		text = "the tool failed, and what it said was lost"
	case transcript.CallRunning, transcript.CallInterrupted:
	}
	return transcript.ToolResult{ToolUseID: callID, Content: text, IsError: true}
}
