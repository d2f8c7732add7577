package check

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// ruleOfWords returns the rule that a refusal's words speak of, "" when none is
// known. The first row that fits decides, so narrow patterns come first.
func ruleOfWords(provider, said string) string {
	said = strings.ToLower(said)
	for _, row := range refusalWords[provider] {
		if containsAny(said, row.patterns) {
			return row.rule
		}
	}
	return ""
}

// matchesWords reports whether the parts of pattern between the stars stand in
// said in their order.
func matchesWords(said, pattern string) bool {
	for _, part := range strings.Split(pattern, "*") {
		i := strings.Index(said, part)
		if i < 0 {
			return false
		}
		said = said[i+len(part):]
	}
	return true
}

// wordsOfRule are the ways in which one rule's refusal is worded, in lower case; a
// star stands for anything.
type wordsOfRule struct {
	rule     string
	patterns []string
}

// refusalWords are the refusals of each provider (reference §5).
var refusalWords = map[string][]wordsOfRule{
	evidence.Anthropic: {
		{"A-1", []string{"anthropic-version"}},
		{"A-4", []string{"unexpected value(s)*anthropic-beta"}},
		{"A-44", []string{"thinking.cache_control", "cache_control cannot be set for thinking", "thinking blocks cannot have cache_control"}},
		{"A-43", []string{"a maximum of 4 blocks with cache_control"}},
		{"A-52", []string{"cache_control block must not come after"}},
		{"A-41", []string{"bound to a different conversation"}},
		{"ANT-B2", []string{"preceded this one when it was created"}},
		{"A-34", []string{"invalid `signature` in `thinking`", "invalid signature in thinking"}},
		{"A-35", []string{"thinking.signature: field required"}},
		{"ANT-T5", []string{"thinking.thinking: field required"}},
		{"ANT-T6", []string{"each thinking block must contain thinking"}},
		{"A-36", []string{"invalid `data` in `redacted_thinking`"}},
		{"A-37", []string{"in the latest assistant message cannot be modified"}},
		{"A-38", []string{"expected `thinking` or `redacted_thinking`, but found"}},
		{"A-39", []string{"when thinking is disabled, an `assistant` message"}},
		{"A-40", []string{"final block in an assistant message cannot be `thinking`"}},
		{"A-13", []string{"cannot end with trailing whitespace"}},
		{"A-14", []string{"assistant message prefill"}},
		{"A-15", []string{"ids were found without `tool_result` blocks"}},
		{"A-17", []string{"unexpected `tool_use_id` found"}},
		{"A-18", []string{"`tool_use` ids must be unique"}},
		{"A-19", []string{"each tool_use must have a single result"}},
		{"A-20", []string{"tool_use.id: string should match", "tool_use_id: string should match"}},
		{"A-21", []string{"tools*name: string should", "tool names must be unique", "tool_use.name: string should"}},
		{"A-22", []string{"tool_use.input: "}},
		{"A-23", []string{"tool_choice may only be specified while", "not found in provided tools"}},
		{"A-24", []string{"blocks can only be in", "user messages cannot contain", "assistant messages cannot contain"}},
		{"A-25", []string{"must be greater than `thinking.budget_tokens`"}},
		{"A-26", []string{"thinking may not be enabled when tool_choice"}},
		{"A-27", []string{"may only be set to 1 when thinking", "must be unset when thinking", "top_p*when thinking", "temperature*when thinking"}},
		{"A-28", []string{"thinking.type.enabled\" is not supported"}},
		{"A-29", []string{"adaptive thinking is not supported"}},
		{"A-30", []string{"thinking.type.disabled\" is not supported"}},
		{"A-31", []string{"is deprecated for this model", "`temperature` and `top_p` cannot both be specified"}},
		{"A-32", []string{"does not support effort level", "does not support the effort parameter"}},
		{"A-33", []string{"tool_choice: type", "tool_choice*not supported for this model"}},
		{"A-46", []string{"image exceeds", "the image appears to be", "image dimensions", "could not process image", "image.source", "document.source", "media_type: input should be", "too many images", "could not process pdf"}},
		{"A-47", []string{"if is_error is true"}},
		{"A-50", []string{"all tools have defer_loading set"}},
		{"A-51", []string{"has no corresponding tool definition"}},
		{"ANT-P6", []string{"must define tools"}},
		{"ANT-S1", []string{"was found without a corresponding"}},
		{"ANT-X6", []string{"cache_control cannot be set for empty text"}},
		{"ANT-X10", []string{"no low surrogate"}},
		{"ANT-B8", []string{"role 'system' must follow"}},
		{"R52", []string{"container_id is required"}},
		{"R53", []string{"found using 'type' does not match"}},
		{"A-7", []string{"it must match json schema draft", "input_schema does not support", "property keys should match"}},
		{"A-48", []string{"too many strict tools", "too many parameters with union", "too many optional parameters", "too complex for compilation",
			"circular reference", "input_schema*invalid", "invalid schema", "output_format.schema: for", "output_config.format.schema: for", "for 'object' type"}},
		{"A-49", []string{"request exceeds the maximum size", "request_too_large", "request entity too large"}},
		{"A-12", []string{"all messages must have non-empty content"}},
		{"A-11", []string{"text content blocks must", "text: field required"}},
		{"A-8", []string{"at least one message is required", "first message must use the"}},
		{"A-9", []string{"role: input should be", "unexpected role"}},
		{"A-10", []string{"roles must alternate"}},
		{"A-5", []string{"extra inputs are not permitted"}},
		{"A-6", []string{"field required"}},
		{"A-7", []string{"range: ", "input should be", "input tag", "input does not match", "maximum allowed number of output tokens", "should have at least", "should be a valid", "must be at least", "each stop sequence must contain"}},
	},
	evidence.OpenAI: {
		{"O-16", []string{"supported values are: 'output_text' and 'refusal'", "supported values are: 'input_text'"}},
		{"OAI-R1", []string{"missing required parameter: 'input[*].summary'"}},
		{"O-3", []string{"missing required parameter"}},
		{"O-4", []string{"unknown parameter"}},
		{"O-17", []string{"content': array too long"}},
		{"O-18", []string{"tools[*name': string does not match pattern"}},
		{"O-8", []string{"expected an id that begins with"}},
		{"O-7", []string{"string too long", "empty string", "string does not match pattern"}},
		{"O-6", []string{"below minimum value", "above maximum value"}},
		{"O-9", []string{"duplicate item found with id"}},
		{"O-10", []string{"no tool output found for"}},
		{"O-11", []string{"no tool call found for"}},
		{"O-12", []string{"without its required following item"}},
		{"O-13", []string{"without its required 'reasoning' item", "without its required"}},
		{"OAI-P6", []string{"exactly one matching function_call_output"}},
		{"O-14", []string{"items are not persisted", "item with id '*' not found"}},
		{"O-15", []string{"encrypted content*could not be", "encrypted content item_id did not match"}},
		{"O-20", []string{"schema must be a json schema of", "schema must have type 'object' and not have", "which was not found in the schema"}},
		{"O-19", []string{"invalid schema for"}},
		{"O-21", []string{"encrypted content is not supported"}},
		{"O-34", []string{"logprobs are not supported", "unsupported parameter: 'top_logprobs'", "unsupported parameter: 'logprobs'"}},
		{"O-24", []string{"unsupported parameter: 'temperature'", "unsupported parameter: 'top_p'", "unsupported value: 'temperature'", "unsupported value: 'top_p'"}},
		{"O-22", []string{"unsupported parameter: 'reasoning"}},
		{"O-23", []string{"unsupported value: '*supported values are", "unsupported value: 'reasoning"}},
		{"O-25", []string{"previous response with id"}},
		{"O-26", []string{"mutually exclusive"}},
		{"O-32", []string{"missing namespace for function_call"}},
		{"O-33", []string{"must contain the word 'json'"}},
		{"O-29", []string{"tool choice '*not found in 'tools'", "tool_choice*not found in"}},
		{"O-30", []string{"invalid file data", "data url with an image", "file type you uploaded", "unsupported image", "image data you provided", "unsupported mime type", "invalid image", "invalid base64"}},
		{"O-5", []string{"invalid value", "invalid type for", "invalid input"}},
	},
	evidence.Gemini: {
		{"G-8", []string{"oneof field 'data' is already set"}},
		{"G-23", []string{"only one of thinking budget and thinking level", "oneof*thinking"}},
		{"G-3", []string{"unknown name", "cannot find field"}},
		{"G-4", []string{"contents is not specified"}},
		{"G-5", []string{"use a valid role"}},
		{"G-6", []string{"parts must not be empty", "must include at least one parts field"}},
		{"G-7", []string{"field 'data' must have one initialized field"}},
		{"G-9", []string{"google.protobuf.struct", "field is not repeating, cannot start list"}},
		{"G-10", []string{"function_response.name"}},
		{"G-11", []string{"invalid function name", "duplicate function declaration"}},
		{"G-17", []string{"missing a thought_signature", "missing a `thought_signature`"}},
		{"G-19", []string{"thought_signature*base64 decoding failed", "base64 decoding failed"}},
		{"G-18", []string{"corrupted thought signature", "invalid thought signature", "thought signature is not valid"}},
		{"G-13", []string{"function call turn comes immediately"}},
		{"G-14", []string{"function response turn comes immediately"}},
		{"G-15", []string{"number of function response parts"}},
		{"GEM-T1", []string{"single turn requests end with a user"}},
		{"G-16", []string{"requests ending with a model turn"}},
		{"G-31", []string{"requests alternate between user and model"}},
		{"G-24", []string{"thinking level*is not supported"}},
		{"G-25", []string{"only works in thinking mode", "thinking budget*invalid", "budget*is invalid", "budget*out of range"}},
		{"G-26", []string{"context circulation is not enabled"}},
		{"G-27", []string{"function calling config", "allowed_function_names", "function_calling_config"}},
		{"G-28", []string{"supported range is from", "must be in the range", "top_k must", "top_p must", "temperature must", "stop_sequences must not exceed"}},
		{"G-32", []string{"function response id does not match"}},
		{"G-34", []string{"logprobs is not enabled for", "logprobs is not supported for"}},
		{"G-33", []string{"response_schema with a response mime type"}},
		{"G-12", []string{"function_declarations*parameters", "should be non-empty for object", "schema*missing field", "reference to undefined schema", "only allowed for string type", "schema"}},
	},
}
