package gemini

// The messages of a generate request (reference §2.3): what the Developer API
// and, marked, only Vertex knows. Of settings that have nothing to do with
// conversations only the names are known, not what is in them.

var (
	schemaTypes = []string{"TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
	callModes   = []string{"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}
	levels      = []string{"THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"}
)

func text(name string) field    { return field{name: name, kind: aString} }
func flag(name string) field    { return field{name: name, kind: aBool} }
func whole(name string) field   { return field{name: name, kind: anInt} }
func number(name string) field  { return field{name: name, kind: aFloat} }
func anyOf(name string) field   { return field{name: name, kind: anyValue} }
func object(name string) field  { return field{name: name, kind: aStruct} }
func opaque(name string) field  { return field{name: name, kind: aMessage} }
func bytesOf(name string) field { return field{name: name, kind: aBytes} }

func enum(name, of string, values ...string) field {
	return field{name: name, kind: anEnum, of: of, values: values}
}

func sub(name, of string, m *message) field {
	return field{name: name, kind: aMessage, of: of, message: m}
}

func repeated(f field) field {
	f.repeated = true
	return f
}

func onVertex(f field) field {
	f.vertex = true
	return f
}

// oneOf makes fields the alternatives of the oneof data.
func oneOf(fields ...field) []field {
	for i := range fields {
		fields[i].oneof = true
	}
	return fields
}

// theRequest is a GenerateContentRequest.
var theRequest = messageOf(
	text("model"), repeated(sub("contents", "Content", theContent)), sub("system_instruction", "Content", theContent),
	repeated(sub("tools", "Tool", theTool)), sub("tool_config", "ToolConfig", theToolConfig),
	repeated(sub("safety_settings", "SafetySetting", messageOf(
		enum("category", "HarmCategory"), enum("threshold", "SafetySetting.HarmBlockThreshold"), onVertex(enum("method", "HarmBlockMethod")),
	))),
	sub("generation_config", "GenerationConfig", theConfig), text("cached_content"), flag("store"), anyOf("service_tier"),
	onVertex(object("labels")), onVertex(opaque("model_armor_config")),
)

// theCount is a CountTokensRequest.
var theCount = messageOf(
	text("model"), repeated(sub("contents", "Content", theContent)),
	sub("generate_content_request", "GenerateContentRequest", theRequest),
	onVertex(sub("system_instruction", "Content", theContent)), onVertex(repeated(sub("tools", "Tool", theTool))),
	onVertex(sub("generation_config", "GenerationConfig", theConfig)), onVertex(repeated(opaque("instances"))),
)

// futurePart is script.FuturePart in the spelling of the proto.
const futurePart = "future_part"

var theContent = messageOf(text("role"), repeated(sub("parts", "Part", thePart)))

var thePart = partMessage()

func partMessage() *message {
	m := messageOf(oneOf(
		text("text"), sub("inline_data", "Blob", theBlob), sub("file_data", "FileData", theFile),
		sub("function_call", "FunctionCall", messageOf(
			text("id"), text("name"), object("args"), onVertex(repeated(opaque("partial_args"))), onVertex(flag("will_continue")),
		)),
		sub("function_response", "FunctionResponse", messageOf(
			text("id"), text("name"), object("response"), flag("will_continue"), enum("scheduling", "FunctionResponse.Scheduling"),
			repeated(sub("parts", "FunctionResponsePart", messageOf(
				sub("inline_data", "FunctionResponseBlob", theBlob), sub("file_data", "FileData", theFile), anyOf("media_processing"),
			))),
		)),
		opaque("executable_code"), opaque("code_execution_result"), opaque("tool_call"), opaque("tool_response"), opaque(futurePart),
	)...)
	m.add(flag("thought"), bytesOf("thought_signature"), opaque("video_metadata"), anyOf("media_resolution"), object("part_metadata"),
		anyOf("audio_transcription"), anyOf("media_processing"), anyOf("speech_metadata"))
	return m
}

var theBlob = messageOf(text("mime_type"), bytesOf("data"), text("display_name"))

var theFile = messageOf(text("mime_type"), text("file_uri"), text("display_name"))

var theTool = messageOf(
	repeated(sub("function_declarations", "FunctionDeclaration", messageOf(
		text("name"), text("description"), sub("parameters", "Schema", theSchema), anyOf("parameters_json_schema"),
		sub("response", "Schema", theSchema), anyOf("response_json_schema"), enum("behavior", "FunctionDeclaration.Behavior"),
	))),
	opaque("google_search"), opaque("google_search_retrieval"), opaque("code_execution"), opaque("url_context"),
	opaque("computer_use"), opaque("file_search"), opaque("google_maps"), repeated(opaque("mcp_servers")),
	onVertex(opaque("retrieval")), onVertex(opaque("enterprise_web_search")), onVertex(opaque("parallel_ai_search")), onVertex(opaque("exa_ai_search")),
)

var theToolConfig = messageOf(
	sub("function_calling_config", "FunctionCallingConfig", messageOf(
		enum("mode", "FunctionCallingConfig.Mode", callModes...), repeated(text("allowed_function_names")),
		onVertex(flag("stream_function_call_arguments")),
	)),
	opaque("retrieval_config"), flag("include_server_side_tool_invocations"),
)

var theConfig = messageOf(
	number("temperature"), number("top_p"), number("top_k"), whole("max_output_tokens"), whole("candidate_count"),
	repeated(text("stop_sequences")), whole("seed"), number("presence_penalty"), number("frequency_penalty"),
	flag("response_logprobs"), whole("logprobs"), text("response_mime_type"), sub("response_schema", "Schema", theSchema),
	anyOf("response_json_schema"), anyOf("_response_json_schema"), repeated(enum("response_modalities", "GenerationConfig.Modality")),
	enum("media_resolution", "GenerationConfig.MediaResolution"), opaque("speech_config"), opaque("image_config"),
	flag("enable_enhanced_civic_answers"), flag("enable_affective_dialog"), anyOf("response_format"), anyOf("translation_config"),
	anyOf("audio_transcription_config"), text("continuation_token"),
	sub("thinking_config", "ThinkingConfig", messageOf(
		flag("include_thoughts"), whole("thinking_budget"), enum("thinking_level", "ThinkingConfig.ThinkingLevel", levels...),
	)),
	onVertex(flag("audio_timestamp")), onVertex(opaque("routing_config")), onVertex(opaque("model_selection_config")), onVertex(opaque("model_config")),
)

// theSchema is the subset of OpenAPI that parameters may use (rule G-12). It
// holds itself.
var theSchema = func() *message {
	m := messageOf(
		enum("type", "Type", schemaTypes...), text("format"), text("title"), text("description"), flag("nullable"),
		repeated(text("enum")), whole("max_items"), whole("min_items"), repeated(text("required")), whole("min_properties"),
		whole("max_properties"), whole("min_length"), whole("max_length"), text("pattern"), anyOf("example"),
		repeated(text("property_ordering")), anyOf("default"), number("minimum"), number("maximum"),
		onVertex(anyOf("additional_properties")), onVertex(text("ref")), onVertex(anyOf("defs")),
	)
	m.add(sub("items", "Schema", m), repeated(sub("any_of", "Schema", m)),
		field{name: "properties", kind: aMap, of: "Schema", message: m})
	return m
}()
