package provider

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Step is one message of a request with its calls and results paired.
type Step struct {
	// At is the index of the message in the request.
	At      int
	Message *transcript.Message
	// IDs holds, for an assistant step, the wire id of each block that is a
	// tool call, by block index.
	IDs []string
	// Answers holds, for a tool_results step, one answer for each call of the
	// assistant step before, in the order of the calls.
	Answers []Answer
}

// Answer is a tool call, its result and the id both have on the wire.
type Answer struct {
	Call   *transcript.Block
	Result *transcript.ToolResult
	ID     string
}

// PairError says which message breaks the pairing of calls and results. A
// renderer never mends it: only the ledger knows what became of a call
// (docs/adr/0002).
type PairError struct {
	At     int    // index of the message
	ID     string // the call
	Reason string
}

// Error names the message and the call.
func (e *PairError) Error() string {
	return fmt.Sprintf("messages[%d]: tool call %q %s", e.At, e.ID, e.Reason)
}

// MessageError says which message cannot be sent at all.
type MessageError struct {
	At     int
	Reason string
}

// Error names the message.
func (e *MessageError) Error() string { return fmt.Sprintf("messages[%d]: %s", e.At, e.Reason) }

// Steps pairs the calls and results of a conversation. Every call must be
// answered exactly once by the tool_results messages right behind it, and
// every result must answer such a call (A-15, A-17, A-19, O-10, O-11, G-15);
// anything else is a *PairError. Neighbouring tool_results messages become one
// step. What Steps makes of a message never depends on later messages, so an
// appended conversation renders to an appended request.
func Steps(messages []transcript.Message) ([]Step, error) {
	p := pairing{seen: map[string]int{}}
	for i := range messages {
		if err := p.addMessage(i, &messages[i]); err != nil {
			return nil, err
		}
	}
	return p.steps, p.checkAllAnswered()
}

type pairing struct {
	steps []Step
	seen  map[string]int // how often a call id occurred so far
	// open is the assistant step whose calls may still be answered, -1 if none.
	open     *Step
	answered map[string]bool
}

func (p *pairing) addMessage(at int, m *transcript.Message) error {
	if m.Role == transcript.RoleToolResults {
		return p.addResults(at, m)
	}
	if err := p.checkAllAnswered(); err != nil {
		return err
	}
	p.open = nil
	switch m.Role {
	case transcript.RoleSystem, transcript.RoleUser, transcript.RoleDeveloper:
		p.steps = append(p.steps, Step{At: at, Message: m})
		return nil
	case transcript.RoleAssistant:
		return p.openCalls(at, m)
	default:
		return &MessageError{At: at, Reason: fmt.Sprintf("role %q is unknown", m.Role)}
	}
}

// openCalls opens the calls of an assistant message.
func (p *pairing) openCalls(at int, m *transcript.Message) error {
	step := Step{At: at, Message: m, IDs: make([]string, len(m.Blocks))}
	inside := map[string]bool{}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Type {
		case transcript.BlockText, transcript.BlockReasoning, transcript.BlockOpaque:
			continue
		case transcript.BlockToolUse:
		default:
			return &MessageError{At: at, Reason: fmt.Sprintf("block %d has the unknown type %q", i, b.Type)}
		}
		if inside[b.ID] {
			return &PairError{At: at, ID: b.ID, Reason: "has no id of its own; give each call a unique id"}
		}
		inside[b.ID] = true
		step.IDs[i] = wireID(b.ID, p.seen[b.ID])
		p.seen[b.ID]++
	}
	p.steps = append(p.steps, step)
	if len(inside) > 0 {
		p.open, p.answered = &step, map[string]bool{}
	}
	return nil
}

// addResults files the results of m as answers to the open calls.
func (p *pairing) addResults(at int, m *transcript.Message) error {
	if len(m.Results) == 0 {
		return nil
	}
	if p.open == nil {
		return &PairError{
			At: at, ID: m.Results[0].ToolUseID, Reason: "is answered here, but the message before does not make it",
		}
	}
	if len(p.answered) == 0 {
		p.steps = append(p.steps, Step{At: at, Message: m, Answers: p.openAnswers()})
	}
	answers := p.steps[len(p.steps)-1].Answers
	for i := range m.Results {
		r := &m.Results[i]
		slot := indexOfCall(answers, r.ToolUseID)
		if slot < 0 {
			return &PairError{
				At: at, ID: r.ToolUseID, Reason: "is answered here, but the message before does not make it",
			}
		}
		if p.answered[r.ToolUseID] {
			return &PairError{At: at, ID: r.ToolUseID, Reason: "is answered twice"}
		}
		p.answered[r.ToolUseID] = true
		answers[slot].Result = r
	}
	return nil
}

// openAnswers returns the open calls in order, without results.
func (p *pairing) openAnswers() []Answer {
	var all []Answer
	blocks := p.open.Message.Blocks
	for i := range blocks {
		if blocks[i].Type == transcript.BlockToolUse {
			all = append(all, Answer{Call: &blocks[i], ID: p.open.IDs[i]})
		}
	}
	return all
}

func indexOfCall(answers []Answer, id string) int {
	for i := range answers {
		if answers[i].Call.ID == id {
			return i
		}
	}
	return -1
}

// checkAllAnswered reports the first open call without an answer.
func (p *pairing) checkAllAnswered() error {
	if p.open == nil {
		return nil
	}
	for _, a := range p.openAnswers() {
		if !p.answered[a.Call.ID] {
			return &PairError{
				At: p.open.At, ID: a.Call.ID,
				Reason: "has no result; close it with a result that says what became of it",
			}
		}
	}
	return nil
}

// maxPortableID is the longest call id that all three providers take (A-20, O-7).
const maxPortableID = 64

// wireID returns the id of the occurrence-th call with id. Ids that every
// provider takes stay as they are; others, and ids used before in the
// conversation, become a digest of both, so that the mapping is
// deterministic and injective.
func wireID(id string, occurrence int) string {
	if occurrence == 0 && isPortableID(id) {
		return id
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", occurrence, id))
	return "mk_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:24])
}

func isPortableID(id string) bool {
	if id == "" || len(id) > maxPortableID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
