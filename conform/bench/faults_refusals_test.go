package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// refusal is an answer of a provider to a request of bad form. In message, the
// model's name stands for MODEL.
type refusal struct {
	rule, message string
	status        int
	param, code   string // of OpenAI
}

var anthropicRefusals = []refusal{
	{rule: "A-1", message: "anthropic-version: header is required"},
	{rule: "A-4", message: "Unexpected value(s) `x` for the `anthropic-beta` header. Please consult our documentation at platform.claude.com/docs or try again without the header."},
	{rule: "A-5", message: "tools.0.strict: Extra inputs are not permitted"},
	{rule: "A-6", message: "max_tokens: Field required"},
	{rule: "A-7", message: "temperature: range: 0..1"},
	{rule: "A-8", message: "messages: first message must use the \"user\" role"},
	{rule: "A-9", message: "messages.0.role: Input should be 'user' or 'assistant'"},
	{rule: "A-11", message: "messages: text content blocks must be non-empty"},
	{rule: "A-11b", message: "messages: text content blocks must contain non-whitespace text"},
	{rule: "A-12", message: "messages.1: all messages must have non-empty content except for the optional final assistant message"},
	{rule: "A-13", message: "messages: final assistant content cannot end with trailing whitespace"},
	{rule: "A-14", message: "This model does not support assistant message prefill. The conversation must end with a user message."},
	{rule: "A-15", message: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A. Each `tool_use` block must have a corresponding `tool_result` block in the next message."},
	{rule: "A-17", message: "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01A. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
	{rule: "A-18", message: "messages.3.content.1: `tool_use` ids must be unique"},
	{rule: "A-19", message: "each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_01A"},
	{rule: "A-20", message: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
	{rule: "A-21", message: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"},
	{rule: "A-21b", message: "tools: Tool names must be unique."},
	{rule: "A-22", message: "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
	{rule: "A-23", message: "tool_choice may only be specified while providing tools."},
	{rule: "A-24", message: "messages.0: `tool_use` blocks can only be in `assistant` messages"},
	{rule: "A-25", message: "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"},
	{rule: "A-26", message: "Thinking may not be enabled when tool_choice forces tool use."},
	{rule: "A-27", message: "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please consult our documentation at https://docs.claude.com"},
	{rule: "A-28", message: "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."},
	{rule: "A-29", message: "adaptive thinking is not supported on this model"},
	{rule: "A-31", message: "`temperature` is deprecated for this model."},
	{rule: "A-32", message: "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."},
	{rule: "A-33", message: "tool_choice: type \"tool\" and \"any\" are not supported for this model."},
	{rule: "A-34", message: "messages.1.content.0: Invalid `signature` in `thinking` block"},
	{rule: "A-35", message: "messages.1.content.0.thinking.signature: Field required"},
	{rule: "A-36", message: "messages.1.content.0: Invalid `data` in `redacted_thinking` block"},
	{rule: "A-37", message: "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."},
	{rule: "A-38", message: "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"}, //nolint:misspell // the API spells it so
	{rule: "A-39", message: "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request."},
	{rule: "A-40", message: "messages.1: The final block in an assistant message cannot be `thinking`."},
	{rule: "A-41", message: "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. The `system` prompt differs from the one this block was created with."},
	{rule: "A-43", message: "A maximum of 4 blocks with cache_control may be provided. Found 5."},
	{rule: "A-46", message: "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"},
	{rule: "A-46b", message: "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"},
	{rule: "A-47", message: "messages.2.content.0.tool_result: content cannot be empty if is_error is true"},
	{rule: "A-48", message: "Too many strict tools (21). The maximum number of strict tools supported is 20. Try reducing the number of tools marked as strict."},
	{rule: "A-52", message: "messages.2.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."},
	{rule: "ANT-P6", message: "Requests which include `tool_use` or `tool_result` blocks must define tools."},
	{rule: "ANT-S1", message: "web_search tool use with id srvtoolu_01A was found without a corresponding web_search_tool_result block"},
	{rule: "ANT-T5", message: "messages.1.content.0.thinking.thinking: Field required"},
	{rule: "ANT-X6", message: "messages.0.content.0.text: cache_control cannot be set for empty text blocks"},
	{rule: "ANT-X10", message: "The request body is not valid JSON: no low surrogate in string: line 1 column 301 (char 300)"},
}

var openAIRefusals = []refusal{
	{rule: "O-3", message: "Missing required parameter: 'tools[0].name'.", param: "tools[0].name", code: "missing_required_parameter"},
	{rule: "O-4", message: "Unknown parameter: 'input[1].foo'.", param: "input[1].foo", code: "unknown_parameter"},
	{rule: "O-5", message: "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", param: "input[0].role", code: "invalid_value"},
	{rule: "O-5b", message: "Invalid type for 'input[2].arguments': expected a string, but got an object instead.", param: "input[2].arguments", code: "invalid_type"},
	{rule: "O-6", message: "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.", param: "max_output_tokens", code: "integer_below_min_value"},
	{rule: "O-7", message: "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a string with length 73 instead.", param: "input[2].call_id", code: "string_above_max_length"},
	{rule: "O-8", message: "Invalid 'input[8].id': 'toolu_X'. Expected an ID that begins with 'fc'.", param: "input[8].id", code: "invalid_value"},
	{rule: "O-9", message: "Duplicate item found with id rs_0a1b. Remove duplicate items from your input and try again.", param: "input"},
	{rule: "O-10", message: "No tool output found for function call call_abc.", param: "input"},
	{rule: "O-11", message: "No tool call found for function call output with call_id call_abc.", param: "input"},
	{rule: "O-12", message: "Item 'rs_0a1b' of type 'reasoning' was provided without its required following item.", param: "input"},
	{rule: "O-13", message: "Item 'fc_0a1b' of type 'function_call' was provided without its required 'reasoning' item: 'rs_0a1b'.", param: "input"},
	{rule: "O-14", message: "Item with id 'rs_0a1b' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", status: 404, param: "input"},
	{rule: "O-15", message: "The encrypted content gAAA...xx== could not be verified. Reason: Encrypted content could not be decrypted or parsed.", code: "invalid_encrypted_content"},
	{rule: "O-16", message: "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.", param: "input[1].content[0]", code: "invalid_value"},
	{rule: "O-17", message: "Invalid 'input[1].content': array too long. Expected an array with maximum length 0, but got an array with length 1 instead.", param: "input[1].content", code: "array_above_max_length"},
	{rule: "O-18", message: "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", param: "tools[0].name", code: "invalid_value"},
	{rule: "O-19", message: "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false.", param: "tools[0].parameters", code: "invalid_function_parameters"},
	{rule: "O-20", message: "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", param: "tools[0].parameters", code: "invalid_function_parameters"},
	{rule: "O-21", message: "Encrypted content is not supported with this model.", param: "include"},
	{rule: "O-22", message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.", param: "reasoning.effort", code: "unsupported_parameter"},
	{rule: "O-23", message: "Unsupported value: 'minimal' is not supported with the 'MODEL' model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.", param: "reasoning.effort", code: "unsupported_value"},
	{rule: "O-24", message: "Unsupported parameter: 'temperature' is not supported with this model.", param: "temperature", code: "unsupported_parameter"},
	{rule: "O-25", message: "Previous response with id 'resp_0a1b' not found.", param: "previous_response_id", code: "previous_response_not_found"},
	{rule: "O-26", message: "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.", code: "mutually_exclusive_parameters"},
	{rule: "O-29", message: "Tool choice 'x' not found in 'tools' parameter.", param: "tool_choice"},
	{rule: "O-30", message: "Invalid file data: 'input[3].output[0].file_data'. Expected a base64-encoded data URL with a valid file MIME type (e.g. 'application/pdf'), but got unsupported MIME type 'audio/mpeg'.", param: "input[3].output[0].file_data", code: "invalid_value"},
	{rule: "OAI-R1", message: "Missing required parameter: 'input[1].summary'.", param: "input[1].summary", code: "missing_required_parameter"},
	{rule: "R51", message: "Missing namespace for function_call 'read'.", param: "input", code: ""},
}

var geminiRefusals = []refusal{
	{rule: "G-3", message: `Invalid JSON payload received. Unknown name "foo" at 'contents[0].parts[0]': Cannot find field.`},
	{rule: "G-4", message: "* GenerateContentRequest.contents: contents is not specified\n"},
	{rule: "G-5", message: "Please use a valid role: user, model."},
	{rule: "G-6", message: "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"},
	{rule: "G-7", message: "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field\n"},
	{rule: "G-8", message: "Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'functionCall'"},
	{rule: "G-9", message: `Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "str"`},
	{rule: "G-10", message: "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n"},
	{rule: "G-11", message: "* GenerateContentRequest.tools[0].function_declarations[14].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n"},
	{rule: "G-11b", message: "Duplicate function declaration found: f"},
	{rule: "G-12", message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type\n"},
	{rule: "G-13", message: "Please ensure that function call turn comes immediately after a user turn or after a function response turn."},
	{rule: "G-14", message: "Please ensure that function response turn comes immediately after a function call turn."},
	{rule: "G-15", message: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."},
	{rule: "G-16", message: "Requests ending with a model turn are not supported unless the last part is a function response."},
	{rule: "GEM-T1", message: "Please ensure that single turn requests end with a user role or the role field is empty."},
	{rule: "G-17", message: "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:read` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."},
	{rule: "G-18", message: "Corrupted thought signature."},
	{rule: "G-18b", message: "Invalid thought signature."},
	{rule: "G-19", message: `Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for "!!"`},
	{rule: "G-23", message: "You can only set only one of thinking budget and thinking level."},
	{rule: "G-24", message: "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level."},
	{rule: "G-25", message: "Budget 0 is invalid. This model only works in thinking mode."},
	{rule: "G-26", message: "Tool call context circulation is not enabled for models/MODEL"},
	{rule: "G-27", message: "Function calling config is set without function_declarations."},
	{rule: "G-28", message: "Unable to submit request because it has a temperature value of 1000 but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again."},
}

func formRefusals(provider string) []refusal {
	return map[string][]refusal{
		evidence.Anthropic: anthropicRefusals, evidence.OpenAI: openAIRefusals, evidence.Gemini: geminiRefusals,
	}[provider]
}

// refusalFaults put a refusal in place of the last recorded reply.
func refusalFaults() []Kind {
	var out []Kind
	for _, provider := range all {
		for _, ref := range formRefusals(provider) {
			out = append(out, Kind{
				Name: "refused-" + ref.rule, Rule: strings.TrimRight(ref.rule, "b"), Providers: []string{provider},
				alter: refuseLast(ref),
			})
		}
	}
	return out
}

func refuseLast(ref refusal) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		list := d.modelCalls()
		k := list[len(list)-1]
		d.setReply(k, ref.withStatus().status, []byte(ref.encodeBody(d.provider, d.modelName(k))))
		return d.placeAt(k, nil), true
	}
}

// encodeBody is the refusal as the provider writes it.
func (ref refusal) encodeBody(provider, model string) string {
	message := quoteJSON(strings.ReplaceAll(ref.message, "MODEL", model))
	switch provider {
	case evidence.Anthropic:
		return `{"type":"error","error":{"type":"invalid_request_error","message":` + message + `},"request_id":"req_011CVbenchAAAAAAAAAAAAAA"}`
	case evidence.OpenAI:
		return `{"error":{"message":` + message + `,"type":"invalid_request_error","param":` + orNull(ref.param) + `,"code":` + orNull(ref.code) + `}}`
	}
	return fmt.Sprintf(`{"error":{"code":400,"message":%s,"status":"INVALID_ARGUMENT"}}`, message)
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return quoteJSON(s)
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("bench: " + err.Error())
	}
	return string(b)
}

func (ref refusal) withStatus() refusal {
	if ref.status == 0 {
		ref.status = 400
	}
	return ref
}
