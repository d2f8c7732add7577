package gemini

import "github.com/meerkat-go/conformance/wires/rule"

// refusalWords are how the API words its refusals. The first row whose pattern a text holds names the
// rule, so narrow patterns come first.
var refusalWords = []rule.Words{
	{Rule: "G-8", Quote: "oneof field 'data' is already set.", Reads: []string{"oneof field 'data' is already set"}},
	{Rule: "G-23", Quote: "You can only set only one of thinking budget and thinking level.", Reads: []string{"only one of thinking budget and thinking level", "oneof*thinking"}},
	{Rule: "G-3", Quote: "Invalid JSON payload received. Unknown name \"…\": Cannot find field.", Reads: []string{"unknown name", "cannot find field"}},
	{Rule: "G-4", Quote: "contents is not specified", Reads: []string{"contents is not specified"}},
	{Rule: "G-5", Quote: "Please use a valid role: user, model.", Reads: []string{"use a valid role"}},
	{Rule: "G-6", Quote: "contents.parts must not be empty.", Reads: []string{"parts must not be empty", "must include at least one parts field"}},
	{Rule: "G-7", Quote: "required oneof field 'data' must have one initialized field", Reads: []string{"field 'data' must have one initialized field"}},
	{Rule: "G-9", Quote: "Invalid value at 'function_response.response' (type.googleapis.com/google.protobuf.Struct)", Reads: []string{"google.protobuf.struct", "field is not repeating, cannot start list"}},
	{Rule: "G-10", Quote: "Name cannot be empty.", Reads: []string{"function_response.name"}},
	{Rule: "G-11", Quote: "Invalid function name.", Reads: []string{"invalid function name", "duplicate function declaration"}},
	{Rule: "G-17", Quote: "Function call is missing a thought_signature in functionCall parts.", Reads: []string{"missing a thought_signature", "missing a `thought_signature`"}},
	{Rule: "G-19", Quote: "Base64 decoding failed", Reads: []string{"thought_signature*base64 decoding failed", "base64 decoding failed"}},
	{Rule: "G-18", Quote: "Corrupted thought signature.", Reads: []string{"corrupted thought signature", "invalid thought signature", "thought signature is not valid"}},
	{Rule: "G-13", Quote: "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", Reads: []string{"function call turn comes immediately"}},
	{Rule: "G-14", Quote: "Please ensure that function response turn comes immediately after a function call turn.", Reads: []string{"function response turn comes immediately"}},
	{Rule: "G-15", Quote: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.", Reads: []string{"number of function response parts"}},
	{Rule: "GEM-T1", Quote: "Please ensure that single turn requests end with a user role or the role field is empty.", Reads: []string{"single turn requests end with a user"}},
	{Rule: "G-16", Quote: "Requests ending with a model turn are not supported unless the last part is a function response.", Reads: []string{"requests ending with a model turn"}},
	{Rule: "G-31", Reads: []string{"requests alternate between user and model"}},
	{Rule: "G-24", Quote: "is not supported for this model.", Reads: []string{"thinking level*is not supported"}},
	{Rule: "G-25", Quote: "Budget 0 is invalid. This model only works in thinking mode.", Reads: []string{"only works in thinking mode", "thinking budget*invalid", "budget*is invalid", "budget*out of range"}},
	{Rule: "G-26", Reads: []string{"context circulation is not enabled"}},
	{Rule: "G-27", Quote: "Function calling config is set without function_declarations.", Reads: []string{"function calling config", "allowed_function_names", "function_calling_config"}},
	{Rule: "G-28", Reads: []string{"supported range is from", "must be in the range", "top_k must", "top_p must", "temperature must", "stop_sequences must not exceed"}},
	{Rule: "G-32", Reads: []string{"function response id does not match"}},
	{Rule: "G-34", Quote: "Logprobs is not enabled for this model", Reads: []string{"logprobs is not enabled for", "logprobs is not supported for"}},
	{Rule: "G-33", Reads: []string{"response_schema with a response mime type"}},
	{Rule: "G-12", Reads: []string{"function_declarations*parameters", "should be non-empty for object", "schema*missing field", "reference to undefined schema", "only allowed for string type", "schema"}},
	{Rule: "G-21", Quote: "Function call is missing a thought_signature in functionCall parts."},
}
