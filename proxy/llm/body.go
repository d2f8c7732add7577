package llm

import "slices"

// Part is what a top-level member of a provider's request body is for.
type Part string

// The parts of a request body. A member that is none of them is Setting.
const (
	Conversation Part = "conversation" // who said what
	Prompt       Part = "prompt"       // the system prompt
	Tools        Part = "tools"        // definitions of tools, and servers of tools
	Envelope     Part = "envelope"     // a whole request body, as Code Assist wraps Gemini's
	Setting      Part = "setting"
)

var parts = map[string]Part{
	"messages": Conversation, "input": Conversation, "contents": Conversation,
	"system": Prompt, "instructions": Prompt, "systemInstruction": Prompt, "system_instruction": Prompt,
	"tools": Tools, "functions": Tools, "mcp_servers": Tools,
	"request": Envelope,
}

// PartOf tells what a top-level member is for. The three providers' names do
// not collide, so that gateways that speak their language are understood, too.
func PartOf(member string) Part {
	if p, ok := parts[member]; ok {
		return p
	}
	return Setting
}

// IsPrompt reports whether a turn of a conversation with this role carries the
// system prompt: OpenAI takes it as the first items of its input.
func IsPrompt(role string) bool { return role == "system" || role == "developer" }

// IsBlocks reports whether a member of a turn or of a block holds blocks, or
// one: the content of a message or a tool result, the parts of a Gemini turn,
// and the call or response in such a part.
func IsBlocks(member string) bool {
	return slices.Contains([]string{"content", "parts", "functionCall", "function_call", "functionResponse", "function_response"}, member)
}

// IsID reports whether a member of a turn or of a block is an identifier: of
// that block, or of the one it answers.
func IsID(member string) bool {
	return slices.Contains([]string{"id", "tool_use_id", "call_id", "tool_call_id", "approval_request_id"}, member)
}

// IsCacheMark reports whether a member of a turn or of a block only says how
// far the prefix is to be cached.
func IsCacheMark(member string) bool {
	return member == "cache_control" || member == "prompt_cache_breakpoint"
}
