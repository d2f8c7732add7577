package transcript

import (
	"iter"
	"slices"
	"strings"
)

// Role names the author of a Message: the JSON member role.
type Role string

// The roles of a stored conversation. A developer message comes from the agent,
// not from the user. It is sent after the tool results or the user message
// before it, never between a call and its result.
const (
	RoleSystem      Role = "system"
	RoleUser        Role = "user"
	RoleDeveloper   Role = "developer"
	RoleAssistant   Role = "assistant"
	RoleToolResults Role = "tool_results"
)

// Message is one entry of a conversation. Role says which fields count:
//
//	system, user, developer   Content, Parts
//	assistant                 Blocks, StopReason, Parts (whole-message images)
//	tool_results              Results
type Message struct {
	Role       Role
	Content    string
	Parts      []Part
	Blocks     []Block
	StopReason StopReason
	Results    []ToolResult
	// Extra holds the members that a newer writer added, as one JSON object; ""
	// if none. A message whose role this version does not know has all its
	// members here.
	Extra string
}

// System returns a system message.
func System(content string) Message { return Message{Role: RoleSystem, Content: content} }

// User returns a user message.
func User(content string) Message { return Message{Role: RoleUser, Content: content} }

// Developer returns a developer message.
func Developer(content string) Message { return Message{Role: RoleDeveloper, Content: content} }

// Assistant returns an assistant message that owns blocks.
func Assistant(stop StopReason, blocks ...Block) Message {
	return Message{Role: RoleAssistant, Blocks: blocks, StopReason: stop}
}

// ToolResults returns the message that answers the tool calls of the
// assistant message before it.
func ToolResults(results ...ToolResult) Message {
	return Message{Role: RoleToolResults, Results: results}
}

// ToolCalls yields the tool calls of m in the order the model emitted them.
func (m *Message) ToolCalls() iter.Seq[ToolCall] {
	return func(yield func(ToolCall) bool) {
		for i := range m.Blocks {
			if b := &m.Blocks[i]; b.Type == BlockToolUse && !yield(ToolCall{ID: b.ID, Name: b.Name, Args: b.Args}) {
				return
			}
		}
	}
}

// HasToolCalls reports whether m holds at least one tool call.
func (m *Message) HasToolCalls() bool {
	for range m.ToolCalls() {
		return true
	}
	return false
}

// HasReasoning reports whether m holds at least one block of thinking.
func (m *Message) HasReasoning() bool {
	return slices.ContainsFunc(m.Blocks, func(b Block) bool { return b.Type == BlockReasoning })
}

// ToolUse returns the first tool call of m with the given id.
func (m *Message) ToolUse(id string) (ToolCall, bool) {
	for c := range m.ToolCalls() {
		if c.ID == id {
			return c, true
		}
	}
	return ToolCall{}, false
}

// Texts yields the visible text blocks of m in order.
func (m *Message) Texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range m.Blocks {
			if b := &m.Blocks[i]; b.Type == BlockText && !yield(b.Text) {
				return
			}
		}
	}
}

// String returns the visible text of m: the joined text blocks of an
// assistant message, the content of a system, user or developer message.
func (m *Message) String() string {
	if m.Role != RoleAssistant {
		return m.Content
	}
	return strings.Join(slices.Collect(m.Texts()), "") // no copy of a single text
}

// ToolResult answers one tool call. It has no place for a continuity token:
// Gemini's signatures ride on calls and text, never on results.
type ToolResult struct {
	ToolUseID string
	Content   string
	Parts     []Part
	IsError   bool
	// Status is ResultAborted when the user interrupted the call, "" otherwise.
	Status ResultStatus
	Extra  string // as in Message
}

// ResultStatus says how a tool call ended where IsError does not tell. An error
// of the tool itself has no status.
type ResultStatus string

// ResultAborted marks the result of a call that the user interrupted.
const ResultAborted ResultStatus = "aborted"

// Part is content beside the joined text of a message: an image or a file.
// Data is the raw content, MediaType its MIME type; URL is set instead of Data
// when the content is only referred to.
type Part struct {
	Type      string // "image" or "file"
	MediaType string
	Data      []byte
	URL       string
	Extra     string // as in Message
}

// ToolDef offers one tool to a model. InputSchema is a JSON Schema object and
// is sent exactly as it stands.
type ToolDef struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	InputSchema RawJSON `json:"input_schema"`
	// Hosted says that the provider runs the tool itself. Name is one of HostedTools
	// then, and each codec writes what its provider calls it.
	Hosted bool `json:"hosted,omitempty"`
	// Deferred says that the model need not know the tool before it has searched for it.
	// Where the provider does not search for tools, it is offered as any other.
	Deferred bool   `json:"deferred,omitempty"`
	Extra    string `json:"-"` // as in Message
}

// The tools that all three providers run themselves.
const (
	HostedSearch = "web_search"
	HostedCode   = "code_execution"
)

// HostedTools lists the names of hosted tools. The slice is the caller's.
func HostedTools() []string { return []string{HostedSearch, HostedCode} }
