package openai

import "github.com/meerkat-go/conformance/wires/rule"

// refusalWords are how the API words its refusals. The first row whose pattern a text holds names the
// rule, so narrow patterns come first.
var refusalWords = []rule.Words{
	{Rule: "O-16", Quote: "Supported values are: 'output_text' and 'refusal'.", Reads: []string{"supported values are: 'output_text' and 'refusal'", "supported values are: 'input_text'"}},
	{Rule: "OAI-R1", Quote: "Missing required parameter: 'input[N].summary'", Reads: []string{"missing required parameter: 'input[*].summary'"}},
	{Rule: "O-3", Quote: "Missing required parameter", Reads: []string{"missing required parameter"}},
	{Rule: "O-4", Quote: "Unknown parameter", Reads: []string{"unknown parameter"}},
	{Rule: "O-17", Quote: "Invalid 'input[N].content': array too long.", Reads: []string{"content': array too long"}},
	{Rule: "O-18", Quote: "string does not match pattern.", Reads: []string{"tools[*name': string does not match pattern"}},
	{Rule: "O-8", Quote: "Invalid 'input[N].id': Expected an ID that begins with", Reads: []string{"expected an id that begins with"}},
	{Rule: "O-7", Quote: "Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64", Reads: []string{"string too long", "empty string", "string does not match pattern"}},
	{Rule: "O-6", Quote: "below minimum value", Reads: []string{"below minimum value", "above maximum value"}},
	{Rule: "O-9", Quote: "Duplicate item found with id", Reads: []string{"duplicate item found with id"}},
	{Rule: "O-10", Quote: "No tool output found for function call", Reads: []string{"no tool output found for"}},
	{Rule: "O-11", Quote: "No tool call found for function call output with call_id", Reads: []string{"no tool call found for"}},
	{Rule: "O-12", Quote: "Item of type 'reasoning' was provided without its required following item.", Reads: []string{"without its required following item"}},
	{Rule: "O-13", Quote: "was provided without its required 'reasoning' item", Reads: []string{"without its required 'reasoning' item", "without its required"}},
	{Rule: "OAI-P6", Quote: "Each function_call must have exactly one matching function_call_output", Reads: []string{"exactly one matching function_call_output"}},
	{Rule: "O-14", Quote: "Item with id 'rs_X' not found. Items are not persisted when `store` is set to false.", Reads: []string{"items are not persisted", "item with id '*' not found"}},
	{Rule: "O-15", Quote: "The encrypted content could not be verified.", Reads: []string{"encrypted content*could not be", "encrypted content item_id did not match"}},
	{Rule: "O-20", Quote: "Invalid schema for function", Reads: []string{"schema must be a json schema of", "schema must have type 'object' and not have", "which was not found in the schema"}},
	{Rule: "O-19", Quote: "Invalid schema for function", Reads: []string{"invalid schema for"}},
	{Rule: "O-21", Quote: "Encrypted content is not supported with this model.", Reads: []string{"encrypted content is not supported"}},
	{Rule: "O-34", Quote: "logprobs are not supported with reasoning models.", Reads: []string{"logprobs are not supported", "unsupported parameter: 'top_logprobs'", "unsupported parameter: 'logprobs'"}},
	{Rule: "O-24", Quote: "is not supported with this model.", Reads: []string{"unsupported parameter: 'temperature'", "unsupported parameter: 'top_p'", "unsupported value: 'temperature'", "unsupported value: 'top_p'"}},
	{Rule: "O-22", Quote: "Unsupported parameter: 'reasoning.effort' is not supported with this model.", Reads: []string{"unsupported parameter: 'reasoning"}},
	{Rule: "O-23", Quote: "Supported values are", Reads: []string{"unsupported value: '*supported values are", "unsupported value: 'reasoning"}},
	{Rule: "O-25", Quote: "Previous response with id 'resp_X' not found.", Reads: []string{"previous response with id"}},
	{Rule: "O-26", Quote: "Mutually exclusive parameters", Reads: []string{"mutually exclusive"}},
	{Rule: "O-32", Quote: "Missing namespace for function_call. It does not exist in the default namespace.", Reads: []string{"missing namespace for function_call"}},
	{Rule: "O-33", Quote: "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.", Reads: []string{"must contain the word 'json'"}},
	{Rule: "O-29", Quote: "not found in 'tools' parameter.", Reads: []string{"tool choice '*not found in 'tools'", "tool_choice*not found in"}},
	{Rule: "O-30", Reads: []string{"invalid file data", "data url with an image", "file type you uploaded", "unsupported image", "image data you provided", "unsupported mime type", "invalid image", "invalid base64"}},
	{Rule: "O-5", Quote: "Invalid type for", Reads: []string{"invalid value", "invalid type for", "invalid input"}},
	{Rule: "O-2", Quote: "The requested model 'X' does not exist."},
}
