package chat

import (
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// refusalWords are how the dialects word their refusals. The first row whose pattern a text holds names the
// rule, so narrow patterns come first.
var refusalWords = []rule.Words{
	{Rule: "C-17", Quote: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.", Reads: []string{
		"must be followed by tool messages", "not the same number of function calls and responses", "tool call result does not follow tool call"}},
	{Rule: "C-18", Quote: "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", Reads: []string{
		"must be a response to a prece", "tool_call_id is not found", "unexpected role 'tool' after role"}},
	{Rule: "C-19", Quote: "Invalid parameter: Duplicate value for 'tool_call_id'", Reads: []string{"duplicate value for 'tool_call_id'"}},
	{Rule: "C-20", Quote: "Invalid request: tool call id is duplicated", Reads: []string{"tool call id * is duplicated"}},
	{Rule: "C-6", Quote: "Unexpected role 'user' after role 'tool'", Reads: []string{"unexpected role 'user' after role 'tool'"}},
	{Rule: "C-4", Reads: []string{"system message must be at the beginning"}},
	{Rule: "C-7", Reads: []string{"conversation roles must alternate"}},
	{Rule: "C-8", Reads: []string{"prefill is incompatible with enable_thinking"}},
	{Rule: "C-3", Quote: "messages[N].role: unknown variant `developer`", Reads: []string{"role: unknown variant `developer`", "role' does not support 'developer'", "role' does not support 'system'"}},
	{Rule: "C-2", Reads: []string{"is not one of ['system', 'assistant'"}},
	{Rule: "C-48", Quote: "The `reasoning_content` in the thinking mode must be passed back to the API.", Reads: []string{
		"in the thinking mode must be passed back", "missing `reasoning_content` field in the assistant message"}},
	{Rule: "C-53", Quote: "thinking is enabled but reasoning_content is missing in assistant tool call message", Reads: []string{"reasoning_content is missing in assistant tool call message"}},
	{Rule: "C-44", Quote: "property 'reasoning_content' is unsupported", Reads: []string{"property 'reasoning_content' is unsupported", "reasoning is not supported with this model"}},
	{Rule: "C-58", Reads: []string{"invalid `signature` in `thinking` block"}},
	{Rule: "C-60", Quote: "Function call is missing a thought_signature in functionCall parts.", Reads: []string{"missing a thought_signature"}},
	{Rule: "C-68", Reads: []string{"cannot pass both content and thinking"}},
	{Rule: "C-24", Quote: "must be a-z, A-Z, 0-9, with a length of 9.", Reads: []string{"with a length of 9"}},
	{Rule: "C-21", Quote: "Invalid 'messages[N].tool_calls': empty array.", Reads: []string{"tool_calls': empty array"}},
	{Rule: "C-22", Quote: "Invalid 'messages[N].tool_calls[N].id': string too long.", Reads: []string{"tool_calls[*].id': string too long"}},
	{Rule: "C-10", Quote: "Invalid value for 'content': expected a string, got null.", Reads: []string{
		"'content': expected a string, got null", "must have either content or tool_calls", "content or tool_calls must be set"}},
	{Rule: "C-13", Reads: []string{"image urls are only allowed for messages with role 'user'", "content blocks are expected to be either text or image_url"}},
	{Rule: "C-14", Reads: []string{"unknown variant `image_url`", "unknown variant `video_url`", "did not match any variant of untagged enum chatcompletionrequestcontent"}},
	{Rule: "C-26", Reads: []string{"failed to parse tool call arguments"}},
	{Rule: "C-28", Reads: []string{"function.name': string does not match pattern"}},
	{Rule: "C-29", Quote: "Invalid 'tools': empty array.", Reads: []string{"'tools': empty array"}},
	{Rule: "C-30", Quote: "Invalid schema for function", Reads: []string{"invalid schema for"}},
	{Rule: "C-32", Quote: "'parallel_tool_calls' is only allowed when 'tools' are specified.", Reads: []string{"'parallel_tool_calls' is only allowed"}},
	{Rule: "C-31", Quote: "'tool_choice' is only allowed when 'tools' are specified.", Reads: []string{"tool_choice", "tool choice '*' not found"}},
	{Rule: "C-33", Quote: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", Reads: []string{"use 'max_completion_tokens' instead"}},
	{Rule: "C-42", Quote: "The 'stream_options' parameter is only allowed when 'stream' is enabled.", Reads: []string{"'stream_options' parameter is only allowed"}},
	{Rule: "C-35", Quote: "Function tools with reasoning_effort are not supported", Reads: []string{"function tools with reasoning_effort"}},
	{Rule: "C-34", Quote: "Unrecognized request argument supplied: reasoning_effort", Reads: []string{"argument supplied: reasoning_effort"}},
	{Rule: "C-37", Reads: []string{"invalid temperature: only"}},
	{Rule: "C-36", Quote: "Only the default (1) value is supported.", Reads: []string{"'temperature' does not support", "unsupported parameter: 'logprobs'", "unsupported parameter: 'stop'"}},
	{Rule: "C-39", Reads: []string{"does not support parameter", "argument not supported on this model"}},
	{Rule: "C-43", Quote: "Unrecognized request argument supplied", Reads: []string{"unrecognized request argument", "invalid json payload received. unknown name"}},
	{Rule: "C-90", Reads: []string{"maximum context length", "context size has been exceeded", "exceeded max context length"}},
	{Rule: "C-40", Quote: "below minimum value", Reads: []string{"below minimum value", "above maximum value"}},
	{Rule: "C-1", Quote: "Missing required parameter", Reads: []string{"missing required parameter", "could not parse the json body", "must provide a model"}},
	{Rule: "C-9", Quote: "Invalid type for", Reads: []string{"invalid type for", "content must be a string"}},
}

// claimsBody tells a request from one of Anthropic's Messages, which has messages as well: there no message has
// the roles tool and developer, and the system prompt is no first message.
func claimsBody(body *tree.Node) bool {
	for i, m := range body.List("messages") {
		switch role := m.Text("role"); {
		case role == "tool", role == "developer", i == 0 && role == "system", m.Get("tool_calls") != nil:
			return true
		}
	}
	return body.Get("messages") != nil && (body.Any("max_completion_tokens", "n", "logprobs", "response_format") != nil || body.Any("max_tokens", "system") == nil)
}
