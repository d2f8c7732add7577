package gemini

// The messages of a generate request (reference §2.3): what the Developer API
// and, marked, only Vertex knows. Of settings that have nothing to do with
// conversations only the names are known, not what is in them.

var (
	schemaTypes = []string{"TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
	callModes   = []string{"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}
	levels      = []string{"THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"}
)

func textField(name string) field   { return field{name: name, kind: aString} }
func flagField(name string) field   { return field{name: name, kind: aBool} }
func wholeField(name string) field  { return field{name: name, kind: anInt} }
func numberField(name string) field { return field{name: name, kind: aFloat} }
func anyOf(name string) field       { return field{name: name, kind: anyValue} }
func structField(name string) field { return field{name: name, kind: aStruct} }
func opaqueField(name string) field { return field{name: name, kind: aMessage} }
func bytesOf(name string) field     { return field{name: name, kind: aBytes} }

func enumField(name, of string, values ...string) field {
	return field{name: name, kind: anEnum, of: of, values: values}
}

func messageField(name, of string, m *message) field {
	return field{name: name, kind: aMessage, of: of, message: m}
}

func repeatedField(f field) field {
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
	textField("model"), repeatedField(messageField("contents", "Content", theContent)), messageField("system_instruction", "Content", theContent),
	repeatedField(messageField("tools", "Tool", theTool)), messageField("tool_config", "ToolConfig", theToolConfig),
	repeatedField(messageField("safety_settings", "SafetySetting", messageOf(
		enumField("category", "HarmCategory"), enumField("threshold", "SafetySetting.HarmBlockThreshold"), onVertex(enumField("method", "HarmBlockMethod")),
	))),
	messageField("generation_config", "GenerationConfig", theConfig), textField("cached_content"), flagField("store"), anyOf("service_tier"),
	onVertex(structField("labels")), onVertex(opaqueField("model_armor_config")),
)

// theCount is a CountTokensRequest.
var theCount = messageOf(
	textField("model"), repeatedField(messageField("contents", "Content", theContent)),
	messageField("generate_content_request", "GenerateContentRequest", theRequest),
	onVertex(messageField("system_instruction", "Content", theContent)), onVertex(repeatedField(messageField("tools", "Tool", theTool))),
	onVertex(messageField("generation_config", "GenerationConfig", theConfig)), onVertex(repeatedField(opaqueField("instances"))),
)

// futurePart is script.FuturePart in the spelling of the proto.
const futurePart = "future_part"

var theContent = messageOf(textField("role"), repeatedField(messageField("parts", "Part", thePart)))

var thePart = partMessage()

func partMessage() *message {
	m := messageOf(oneOf(
		textField("text"), messageField("inline_data", "Blob", theBlob), messageField("file_data", "FileData", theFile),
		messageField("function_call", "FunctionCall", messageOf(
			textField("id"), textField("name"), structField("args"), onVertex(repeatedField(opaqueField("partial_args"))), onVertex(flagField("will_continue")),
		)),
		messageField("function_response", "FunctionResponse", messageOf(
			textField("id"), textField("name"), structField("response"), flagField("will_continue"), enumField("scheduling", "FunctionResponse.Scheduling"),
			repeatedField(messageField("parts", "FunctionResponsePart", messageOf(
				messageField("inline_data", "FunctionResponseBlob", theBlob), messageField("file_data", "FileData", theFile), anyOf("media_processing"),
			))),
		)),
		opaqueField("executable_code"), opaqueField("code_execution_result"), opaqueField("tool_call"), opaqueField("tool_response"), opaqueField(futurePart),
	)...)
	m.addFields(flagField("thought"), bytesOf("thought_signature"), opaqueField("video_metadata"), anyOf("media_resolution"), structField("part_metadata"),
		anyOf("audio_transcription"), anyOf("media_processing"), anyOf("speech_metadata"))
	return m
}

var theBlob = messageOf(textField("mime_type"), bytesOf("data"), textField("display_name"))

var theFile = messageOf(textField("mime_type"), textField("file_uri"), textField("display_name"))

var theTool = messageOf(
	repeatedField(messageField("function_declarations", "FunctionDeclaration", messageOf(
		textField("name"), textField("description"), messageField("parameters", "Schema", theSchema), anyOf("parameters_json_schema"),
		messageField("response", "Schema", theSchema), anyOf("response_json_schema"), enumField("behavior", "FunctionDeclaration.Behavior"),
	))),
	opaqueField("google_search"), opaqueField("google_search_retrieval"), opaqueField("code_execution"), opaqueField("url_context"),
	opaqueField("computer_use"), opaqueField("file_search"), opaqueField("google_maps"), repeatedField(opaqueField("mcp_servers")),
	onVertex(opaqueField("retrieval")), onVertex(opaqueField("enterprise_web_search")), onVertex(opaqueField("parallel_ai_search")), onVertex(opaqueField("exa_ai_search")),
)

var theToolConfig = messageOf(
	messageField("function_calling_config", "FunctionCallingConfig", messageOf(
		enumField("mode", "FunctionCallingConfig.Mode", callModes...), repeatedField(textField("allowed_function_names")),
		onVertex(flagField("stream_function_call_arguments")),
	)),
	opaqueField("retrieval_config"), flagField("include_server_side_tool_invocations"),
)

var theConfig = messageOf(
	numberField("temperature"), numberField("top_p"), numberField("top_k"), wholeField("max_output_tokens"), wholeField("candidate_count"),
	repeatedField(textField("stop_sequences")), wholeField("seed"), numberField("presence_penalty"), numberField("frequency_penalty"),
	flagField("response_logprobs"), wholeField("logprobs"), textField("response_mime_type"), messageField("response_schema", "Schema", theSchema),
	anyOf("response_json_schema"), anyOf("_response_json_schema"), repeatedField(enumField("response_modalities", "GenerationConfig.Modality")),
	enumField("media_resolution", "GenerationConfig.MediaResolution"), opaqueField("speech_config"), opaqueField("image_config"),
	flagField("enable_enhanced_civic_answers"), flagField("enable_affective_dialog"), anyOf("response_format"), anyOf("translation_config"),
	anyOf("audio_transcription_config"), textField("continuation_token"),
	messageField("thinking_config", "ThinkingConfig", messageOf(
		flagField("include_thoughts"), wholeField("thinking_budget"), enumField("thinking_level", "ThinkingConfig.ThinkingLevel", levels...),
	)),
	onVertex(flagField("audio_timestamp")), onVertex(opaqueField("routing_config")), onVertex(opaqueField("model_selection_config")), onVertex(opaqueField("model_config")),
)

// theSchema is the subset of OpenAPI that parameters may use (rule G-12). It
// holds itself.
var theSchema = func() *message {
	m := messageOf(
		enumField("type", "Type", schemaTypes...), textField("format"), textField("title"), textField("description"), flagField("nullable"),
		repeatedField(textField("enum")), wholeField("max_items"), wholeField("min_items"), repeatedField(textField("required")), wholeField("min_properties"),
		wholeField("max_properties"), wholeField("min_length"), wholeField("max_length"), textField("pattern"), anyOf("example"),
		repeatedField(textField("property_ordering")), anyOf("default"), numberField("minimum"), numberField("maximum"),
		onVertex(anyOf("additional_properties")), onVertex(textField("ref")), onVertex(anyOf("defs")),
	)
	m.addFields(messageField("items", "Schema", m), repeatedField(messageField("any_of", "Schema", m)),
		field{name: "properties", kind: aMap, of: "Schema", message: m})
	return m
}()
