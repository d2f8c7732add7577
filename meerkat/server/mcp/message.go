package mcp

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Message is one message of a conversation. Continuity tokens are not in it.
type Message struct {
	Index    int       `json:"index"`
	Role     string    `json:"role"`
	Text     string    `json:"text,omitempty"`
	Thinking string    `json:"thinking,omitempty"`
	Calls    []Call    `json:"calls,omitempty"`
	Results  []Outcome `json:"results,omitempty"`
}

// Call is a tool call of the model.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments" jsonschema:"JSON, as the model wrote it"`
}

// Outcome is the result of a call.
type Outcome struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

func newMessage(index int, m *transcript.Message) Message {
	out := Message{Index: index, Role: string(m.Role)}
	text, thinking := []string{}, []string{}
	if m.Content != "" {
		text = append(text, m.Content)
	}
	for _, b := range m.Blocks {
		switch b.Type {
		case transcript.BlockText:
			text = append(text, b.Text)
		case transcript.BlockReasoning:
			thinking = append(thinking, b.Text)
		case transcript.BlockToolUse:
			out.Calls = append(out.Calls, Call{b.ID, b.Name, clipText(string(b.Args), maxText)})
		default: // what an opaque block holds is the provider's
			text = append(text, fmt.Sprintf("(%s)", b.Kind))
		}
	}
	text = append(text, describeParts(m.Parts)...)
	for _, r := range m.Results {
		content := strings.Join(append([]string{r.Content}, describeParts(r.Parts)...), "\n")
		out.Results = append(out.Results, Outcome{r.ToolUseID, clipText(content, maxText), r.IsError})
	}
	out.Text, out.Thinking = clipText(
		strings.Join(text, "\n"), maxText,
	), clipText(strings.Join(thinking, "\n"), maxText)
	return out
}

// describeParts names images and files instead of showing them.
func describeParts(parts []transcript.Part) (lines []string) {
	for _, p := range parts {
		lines = append(lines, fmt.Sprintf("(%s %s, %d bytes)", p.Type, p.MediaType, len(p.Data)))
	}
	return lines
}
