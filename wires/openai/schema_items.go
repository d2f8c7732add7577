package openai

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

var progress = enum("in_progress", "completed", "incomplete")

var breakpoint = plainFields("prompt_cache_breakpoint")

var inputText = variantOf("input_text", append([]field{must("text", atMost(maxText, str))}, breakpoint...)...)

// inputParts is what a user, a system, a developer and a tool say.
var inputParts = func() shape {
	s := byType(
		inputText,
		variantOf("input_image", append(breakpoint, opt("image_url", str), opt("file_id", str),
			opt("detail", enum("low", "high", "auto", "original")))...),
		variantOf("input_file", append(breakpoint, opt("file_id", str), opt("file_data", str), opt("file_url", str), opt("filename", str),
			opt("detail", str))...),
	)
	s.unknownVariant = breachPart
	return s
}()

var annotations = byType(
	variantOf("file_citation", plainFields("file_id", "filename", "index")...),
	variantOf("url_citation", plainFields("start_index", "end_index", "title", "url")...),
	variantOf("container_file_citation", plainFields("container_id", "start_index", "end_index", "file_id", "filename")...),
	variantOf("file_path", plainFields("file_id", "index")...),
)

// outputParts is what an assistant says (rule O-16).
var outputParts = func() shape {
	s := byType(
		variantOf("output_text", must("text", str), opt("annotations", list(annotations)), opt("logprobs", list(freeform))),
		variantOf("refusal", must("refusal", str)),
	)
	s.unknownVariant = breachPart
	return s
}()

var roles = []string{"assistant", "system", "developer", "user"}

func messageFields(parts shape) []field {
	return []field{
		must("role", enum(roles...)), must("content", orText(list(parts))), opt("type", str), opt("id", idShape("msg")),
		opt("status", progress), opt("phase", enum("commentary", "final_answer")),
	}
}

var caller = opt("caller", byType(variantOf("direct"), variantOf("program", must("caller_id", str))))

// output is what a tool returned.
var output = atMost(maxText, orText(list(inputParts)))

// The variants of a message are not types on the wire: both are "message".
const (
	inputMessage  = "message of a client"
	outputMessage = "message of a model"
	futureItem    = "item of the future"
)

// itemShape is one input item. Members that only hosted tools have are named
// but not looked into.
var itemShape = func() shape {
	s := byType(
		variantOf("message"),
		variantOf("reasoning", must("summary", list(byType(variantOf("summary_text", must("text", str))))), opt("id", idShape("rs")),
			opt("encrypted_content", str), opt("content", list(byType(variantOf("reasoning_text", must("text", str))))), nonNull("status", progress)),
		variantOf("function_call", must("call_id", callIDs), must("name", between(1, 128, str)), must("arguments", atMost(maxText, str)),
			opt("id", idShape("fc")), opt("status", progress), opt("namespace", str), opt("async", flag), caller),
		variantOf("function_call_output", must("call_id", callIDs), must("output", output), opt("id", idShape("fc")), opt("status", progress),
			opt("name", str), opt("namespace", str), caller),
		variantOf("custom_tool_call", must("call_id", callIDs), must("name", between(1, 128, str)), must("input", atMost(maxText, str)),
			opt("id", idShape("ctc")), opt("status", progress), opt("namespace", str), opt("async", flag), caller),
		variantOf("custom_tool_call_output", must("call_id", callIDs), must("output", output), opt("id", idShape("ctc")), opt("status", progress), caller),
		variantOf("item_reference", opt("type", str), must("id", atMost(maxID, str))),
		variantOf("compaction", must("encrypted_content", str), opt("id", idShape("cmp"))),
		variantOf("compaction_trigger", opt("id", str)),
		variantOf("additional_tools", must("tools", list(toolShape)), opt("role", enum("developer")), opt("id", str)),
		variantOf("configuration_update", opt("id", str), opt("reasoning", reasoningShape), opt("text", textShape)),
		variantOf("tool_search_call", append(plainFields("arguments", "execution", "status", "caller"), opt("id", idShape("tsc")), opt("call_id", callIDs))...),
		variantOf("tool_search_output", append(plainFields("execution", "status", "caller"), must("tools", list(toolShape)), opt("id", idShape("tso")), opt("call_id", callIDs))...),
		hostedVariant("web_search_call", "ws", "action", "results"), hostedVariant("file_search_call", "fs", "queries", "results"),
		hostedVariant("code_interpreter_call", "ci", "code", "outputs", "container_id"),
		hostedVariant("image_generation_call", "ig", "result", "revised_prompt", "action", "background", "output_format", "quality", "size", "error", "svg_usage"),
		hostedVariant("mcp_call", "mcp", "arguments", "name", "server_label", "approval_request_id", "output", "error"),
		hostedVariant("mcp_list_tools", "mcpl", "server_label", "tools", "error"),
		hostedVariant("mcp_approval_request", "mcpr", "arguments", "name", "server_label"),
		hostedVariant("mcp_approval_response", "", "approval_request_id", "approve", "reason"),
		hostedVariant("computer_call", "cu", "call_id", "pending_safety_checks", "action", "actions"),
		hostedVariant("computer_call_output", "", "call_id", "output", "acknowledged_safety_checks"),
		hostedVariant("local_shell_call", "", "call_id", "action"), hostedVariant("local_shell_call_output", "", "output", "call_id"),
		hostedVariant("shell_call", "sh", "call_id", "action", "caller", "environment"),
		hostedVariant("shell_call_output", "sh", "call_id", "output", "max_output_length", "caller"),
		hostedVariant("apply_patch_call", "apc", "call_id", "operation", "caller"), hostedVariant("apply_patch_call_output", "apc", "call_id", "output", "caller"),
		hostedVariant("program", "", "call_id", "code", "fingerprint"), hostedVariant("program_output", "", "call_id", "result"),
		variant{inputMessage, obj(messageFields(inputParts)...)},
		variant{outputMessage, obj(messageFields(outputParts)...)},
		variant{futureItem, obj(plainFields("id", "type", "status", "note")...)},
	)
	s.pick = itemType
	for i := range s.variants {
		s.variants[i].fields = append(s.variants[i].fields, vendorFields...)
	}
	return s
}()

// vendorFields are members of items that no reference names, and that the vendor's
// own client (codex 0.169) sends to api.openai.com.
var vendorFields = plainFields("internal_chat_message_metadata_passthrough")

func hostedVariant(name, begin string, fields ...string) variant {
	return variantOf(name, append(plainFields(append(fields, "status")...), opt("id", idShape(begin)))...)
}

// itemType names the variant of an item. Without a type it is a message, or a
// reference when it is nothing but an id (reference §2.2).
func itemType(v *tree.Node) string {
	switch t := v.Get("type").Text(); {
	case t == "message" && v.Get("role").Text() == "assistant", t == "" && v.Get("role").Text() == "assistant":
		return outputMessage
	case t == "message":
		return inputMessage
	case t == script.FutureItem:
		return futureItem
	case t != "":
		return t
	case len(v.Names()) == 1 && v.Get("id").Is(tree.String):
		return "item_reference"
	}
	return inputMessage
}
