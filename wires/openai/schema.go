package openai

import (
	"math"

	"github.com/meerkat-go/conformance/wires/tree"
)

// maxText is the longest string of an input (rule O-7).
const maxText = 10_485_760

// requestShape is the body of POST /v1/responses in the order in which its
// members are checked (reference §2.2; names, types and values as the
// documented parameters of the API have them).
var requestShape = obj(
	opt("model", str),
	opt("input", orText(list(itemShape))),
	opt("instructions", str),
	opt("stream", flag),
	opt("stream_options", obj(opt("include_obfuscation", flag))),
	opt("store", flag),
	opt("include", list(enum("file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
		"message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs",
		"reasoning.encrypted_content", "message.output_text.logprobs"))),
	opt("reasoning", reasoningShape),
	opt("text", textShape),
	opt("tools", atMost(128, list(toolShape))),
	opt("tool_choice", choiceShape),
	opt("parallel_tool_calls", flag),
	opt("max_output_tokens", between(16, math.MaxInt32, whole)),
	opt("max_tool_calls", between(0, math.MaxInt32, whole)),
	opt("temperature", between(0, 2, fraction)),
	opt("top_p", between(0, 1, fraction)),
	opt("top_logprobs", between(0, 20, whole)),
	opt("truncation", enum("auto", "disabled")),
	opt("previous_response_id", str),
	opt("conversation", orText(obj(must("id", str)))),
	opt("prompt", obj(must("id", str), opt("version", str), opt("variables", freeform))),
	opt("client_metadata", mapOf(str)), // Codex sends it with every request
	opt("metadata", atMost(16, mapOf(atMost(512, str)))),
	opt("service_tier", enum("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")),
	opt("background", flag),
	opt("prompt_cache_key", atMost(64, str)),
	opt("prompt_cache_retention", enum("in_memory", "24h")),
	opt("prompt_cache_options", obj(append(plainFields("prewarm"), opt("comparison_response_id", str), opt("mode", str), opt("ttl", str))...)),
	opt("safety_identifier", atMost(64, str)),
	opt("user", str),
	opt("context_management", list(obj(must("type", str), opt("compact_threshold", between(1000, math.MaxInt32, whole))))),
	opt("moderation", obj(plainFields("model", "policy")...)),
	opt("access_programs", obj(plainFields("cyber")...)),
)

var reasoningShape = obj(
	opt("effort", enum("none", "minimal", "low", "medium", "high", "xhigh", "max")),
	opt("summary", summaries),
	opt("generate_summary", summaries),
	opt("context", enum("auto", "current_turn", "all_turns")),
	opt("mode", enum("standard", "pro")),
)

var summaries = enum("auto", "concise", "detailed")

var textShape = obj(
	opt("verbosity", enum("low", "medium", "high")),
	opt("format", byType(
		variantOf("text"),
		variantOf("json_object"),
		variantOf("json_schema", must("name", atMost(64, toolNames)), must("schema", freeform), opt("description", str), opt("strict", flag)),
	)),
)

var choiceShape = func() shape {
	s := byType(
		variantOf("function", must("name", toolNames)),
		variantOf("custom", must("name", toolNames)),
		variantOf("allowed_tools", must("mode", enum("auto", "required")), must("tools", list(freeform))),
		variantOf("mcp", must("server_label", str), opt("name", str)),
		variantOf("file_search"), variantOf("web_search"), variantOf("web_search_preview"),
		variantOf("web_search_preview_2025_03_11"), variantOf("computer"), variantOf("computer_use"),
		variantOf("computer_use_preview"), variantOf("image_generation"), variantOf("code_interpreter"),
		variantOf("apply_patch"), variantOf("shell"), variantOf("programmatic_tool_calling"),
	)
	s.kinds, s.enum = s.kinds|tree.String, []string{"none", "auto", "required"}
	return s
}()

// functionFields are a function tool's members. The last one is the nesting of
// another API: it is let through (recorded with status 200 46 times).
var functionFields = append([]field{
	must("name", toolNames), opt("description", str), opt("parameters", freeform), opt("strict", flag),
	opt("async", flag), opt("defer_loading", flag), opt("allowed_callers", list(str)), opt("output_schema", freeform),
}, plainFields("function")...)

var customFields = []field{
	must("name", toolNames), opt("description", str), opt("async", flag), opt("defer_loading", flag), opt("allowed_callers", list(str)),
	opt("format", byType(variantOf("text"), variantOf("grammar", must("definition", str), must("syntax", enum("lark", "regex"))))),
}

var webSearch = plainFields("filters", "user_location", "search_context_size", "external_web_access", "search_content_types")

// toolShape is one of a request's tools.
var toolShape = byType(
	variantOf("function", functionFields...),
	variantOf("custom", customFields...),
	variantOf("namespace", must("name", toolNames), opt("description", str), must("tools", list(byType(
		variantOf("function", functionFields...), variantOf("custom", customFields...))))),
	variantOf("tool_search", opt("description", str), opt("parameters", freeform), opt("execution", enum("server", "client"))),
	variantOf("web_search", webSearch...), variantOf("web_search_2025_08_26", webSearch...),
	variantOf("web_search_preview", webSearch...), variantOf("web_search_preview_2025_03_11", webSearch...),
	variantOf("file_search", append([]field{must("vector_store_ids", list(str))}, plainFields("max_num_results", "filters", "ranking_options")...)...),
	variantOf("code_interpreter", append([]field{must("container", orText(freeform))}, plainFields("allowed_callers")...)...),
	variantOf("mcp", append([]field{must("server_label", str)}, plainFields("authorization", "defer_loading", "server_description", "server_url",
		"tunnel_id", "allowed_callers", "allowed_tools", "headers", "require_approval", "connector_id")...)...),
	variantOf("image_generation", plainFields("frame_count", "frame_duration_ms", "output_compression", "partial_images", "input_fidelity", "action",
		"background", "complexity", "input_image_mask", "model", "moderation", "output_format", "quality", "size", "svg")...),
	variantOf("computer"), variantOf("local_shell"), variantOf("programmatic_tool_calling"),
	variantOf("computer_use_preview", plainFields("display_height", "display_width", "environment")...),
	variantOf("shell", plainFields("allowed_callers", "environment")...),
	variantOf("apply_patch", plainFields("allowed_callers")...),
)
