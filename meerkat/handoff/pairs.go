package handoff

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// pairs puts the results of each reply right behind it, in the order of its
// calls, and closes the calls that have none (H13, X9). Whatever stood between
// rides behind the results (X8); results that answer nothing are left out
// (H14).
func (b *builder) pairs(messages []placed) []placed {
	p := &pairing{builder: b, out: make([]placed, 0, len(messages))}
	for _, m := range messages {
		switch m.Role {
		case transcript.RoleToolResults:
			p.results(m)
		case transcript.RoleAssistant:
			p.flush()
			p.begin(m)
		default:
			p.held = append(p.held, m)
		}
	}
	p.flush()
	return p.out
}

// open is a call and its answer, nil before it has one.
type open struct {
	id     string
	answer *transcript.ToolResult
}

type pairing struct {
	*builder
	out    []placed
	held   []placed                         // what came since the last reply, without results
	reply  placed                           // the last one, if it makes calls
	calls  []open                           // of that reply, in order
	closed map[string]transcript.ToolResult // by call id, from the ledger
}

func (p *pairing) begin(m placed) {
	p.out = append(p.out, m)
	p.reply = m
	for c := range m.ToolCalls() {
		p.calls = append(p.calls, open{id: c.ID})
	}
}

// results files results under the open calls they answer.
func (p *pairing) results(m placed) {
	for i := range m.Results {
		r := &m.Results[i]
		c := p.calling(r.ToolUseID)
		late, closed := p.closed[r.ToolUseID]
		switch {
		case c == nil && closed && equal(late, *r):
		case c == nil:
			p.lose("H14", m.at, i, r.ToolUseID, "it answers no call of the reply before it")
		case c.answer == nil:
			c.answer = r
			p.resultParts(m.at, i, r)
		case !equal(*c.answer, *r):
			p.lose("H14", m.at, i, r.ToolUseID, "the call was answered before, and the first answer counts")
		}
	}
}

// calling returns the call of the last reply with an id, nil if it has none.
func (p *pairing) calling(id string) *open {
	for i := range p.calls {
		if p.calls[i].id == id {
			return &p.calls[i]
		}
	}
	return nil
}

// equal reports whether two results say the same.
func equal(a, b transcript.ToolResult) bool {
	x, errA := a.AppendJSON(nil)
	y, errB := b.AppendJSON(nil)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// flush ends a reply: its results, then what was held back.
func (p *pairing) flush() {
	if len(p.calls) > 0 {
		all := make([]transcript.ToolResult, len(p.calls))
		for i, c := range p.calls {
			if c.answer != nil {
				all[i] = *c.answer
			} else {
				all[i] = p.close(c.id)
			}
		}
		p.out = append(p.out, placed{transcript.ToolResults(all...), p.reply.at})
	}
	p.out = append(p.out, p.held...)
	p.calls, p.held = p.calls[:0], p.held[:0]
}

// close answers a call whose result is not in the conversation: with the result
// that the ledger kept, or with what it knows of the call.
func (p *pairing) close(id string) transcript.ToolResult {
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
		status = transcript.CallRunning // for all anybody knows
	}
	closure := Closure(id, status)
	p.lose("H13", p.reply.at, p.index(id), id, "it has no result; the model reads \""+closure.Content+"\"")
	return closure
}

// index returns the index of a call in the reply as the history holds it, -1 if
// it holds no such call.
func (p *pairing) index(id string) int {
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
// text is the same each time (H13).
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
