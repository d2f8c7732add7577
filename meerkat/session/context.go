package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/internal/tagged"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// ContextStrategy says how much of a session its sub-agent begins with; see
// [Session.Begin]. The zero value is [FullHistory].
//
// Its JSON form is {"type":"full_history"}, {"type":"last_turns","value":3},
// {"type":"summary","value":{"max_tokens":500}} or
// {"type":"custom","value":{"messages":[…]}}.
type ContextStrategy struct {
	kind     string
	turns    uint32
	summary  summaryContext
	messages []transcript.Message
}

type summaryContext struct {
	MaxTokens uint32 `json:"max_tokens"`
}

type customContext struct {
	Messages []transcript.Message `json:"messages"`
}

const (
	contextFull    = "full_history" // the zero value means the same
	contextTurns   = "last_turns"
	contextSummary = "summary"
	contextCustom  = "custom"
)

// FullHistory begins with the whole conversation.
func FullHistory() ContextStrategy { return ContextStrategy{kind: contextFull} }

// LastTurns begins with the last n replies of the model and the prompt that they answer.
// It has more replies where a border would part a call from its result, or thinking from
// the answer that it belongs to. What the agent itself told the model stays.
func LastTurns(n uint32) ContextStrategy { return ContextStrategy{kind: contextTurns, turns: n} }

// SummaryContext begins with a summary of at most that many tokens. Writing it is a call
// of the model: [Session.Begin] gives the whole conversation, which the sub-agent
// compacts before its first prompt, as any session is compacted.
func SummaryContext(maxTokens uint32) ContextStrategy {
	return ContextStrategy{kind: contextSummary, summary: summaryContext{maxTokens}}
}

// CustomContext begins with these messages, which may be none. They are of the user, of
// the assistant or results of tools. Continuity tokens, and blocks that only their
// provider understands, do not go along, because they belong to another conversation.
func CustomContext(messages ...transcript.Message) ContextStrategy {
	return ContextStrategy{kind: contextCustom, messages: slices.Clone(messages)}
}

// SummaryTokens returns how long the summary may be that the sub-agent begins with; ok
// is false unless the strategy is [SummaryContext].
func (c ContextStrategy) SummaryTokens() (tokens int, ok bool) {
	return int(c.summary.MaxTokens), c.kind == contextSummary
}

// Validate reports what no sub-agent can begin with: no turns, no room for a summary, a
// message of the system or the developer, or of a role that is not known.
func (c ContextStrategy) Validate() error {
	switch {
	case c.kind == contextTurns && c.turns == 0:
		return errors.New("context: last_turns is 0; want at least 1, or custom without messages for an empty beginning")
	case c.kind == contextSummary && c.summary.MaxTokens == 0:
		return errors.New("context: the max_tokens of a summary is 0; want at least 1")
	}
	for i := range c.messages {
		if err := checkCustom(&c.messages[i]); err != nil {
			return fmt.Errorf("context: message %d: %w", i+1, err)
		}
	}
	return nil
}

func checkCustom(m *transcript.Message) error {
	switch m.Role {
	case transcript.RoleUser, transcript.RoleAssistant, transcript.RoleToolResults:
	default:
		return fmt.Errorf(
			"the role is %q; want user, assistant or tool_results (a system prompt is a setting of the sub-agent)",
			m.Role,
		)
	}
	for i := range m.Blocks {
		switch m.Blocks[i].Type {
		case transcript.BlockText, transcript.BlockReasoning, transcript.BlockToolUse, transcript.BlockOpaque:
		default:
			return fmt.Errorf("block %d: the type is %q; want text, reasoning or tool_use", i+1, m.Blocks[i].Type)
		}
	}
	return nil
}

// MarshalJSON writes the form above.
func (c ContextStrategy) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case contextTurns:
		return tagged.Encode(c.kind, c.turns)
	case contextSummary:
		return tagged.Encode(c.kind, c.summary)
	case contextCustom:
		return tagged.Encode(c.kind, customContext{append([]transcript.Message{}, c.messages...)})
	default:
		return tagged.Encode(contextFull, nil)
	}
}

// UnmarshalJSON reads the form above and validates it; anything else is an error.
func (c *ContextStrategy) UnmarshalJSON(data []byte) error {
	var out ContextStrategy
	var custom customContext
	var err error
	out.kind, err = tagged.Decode(data, map[string]any{
		contextFull: nil, contextTurns: &out.turns, contextSummary: &out.summary, contextCustom: &custom,
	})
	if err != nil {
		return fmt.Errorf("context: %w", err)
	}
	out.messages = custom.Messages
	if err := out.Validate(); err != nil {
		return err
	}
	*c = out
	return nil
}
