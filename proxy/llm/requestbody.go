package llm

import "slices"

// Part is the purpose of a top-level member of a provider's request body.
type Part string

// The parts of a request body. Any other member is a Setting.
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

// PartOf returns the purpose of a top-level member. The names of the three
// providers do not collide, so requests to gateways that speak their APIs are
// understood as well.
func PartOf(member string) Part {
	if p, ok := parts[member]; ok {
		return p
	}
	return Setting
}

// IsPrompt reports whether a turn with this role carries the system prompt:
// OpenAI accepts it as the first items of its input.
func IsPrompt(role string) bool { return role == "system" || role == "developer" }

// IsBlocks reports whether a member of a turn or of a block holds one or more
// blocks: the content of a message or a tool result, the parts of a Gemini turn,
// and the call or response in such a part.
func IsBlocks(member string) bool {
	return slices.Contains([]string{"content", "parts", "functionCall", "function_call", "functionResponse", "function_response"}, member)
}

// IsID reports whether a member of a turn or of a block is an identifier: of
// that block, or of the one it answers.
func IsID(member string) bool {
	return slices.Contains([]string{"id", "tool_use_id", "call_id", "tool_call_id", "approval_request_id"}, member)
}

// IsCacheMark reports whether a member of a turn or of a block only marks how
// much of the prefix is cached.
func IsCacheMark(member string) bool {
	return member == "cache_control" || member == "prompt_cache_breakpoint"
}

// isResult reports whether a block of a user's turn is the result of a tool, and
// nothing that the user said.
func isResult(block map[string]any) bool {
	kind, _ := block["type"].(string)
	return kind == "tool_result" || block["functionResponse"] != nil || block["function_response"] != nil
}

// IsToken reports whether a member holds a token that only its provider understands:
// a signature, or encrypted or encoded content.
func IsToken(member string) bool {
	return slices.Contains([]string{"signature", "thoughtSignature", "thought_signature", "encrypted_content", "data"}, member)
}
