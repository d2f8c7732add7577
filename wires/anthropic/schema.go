package anthropic

import (
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// betaBinding is the beta that lets a request say what happens to thinking that
// is bound to another conversation.
const betaBinding = "thinking-binding-controls-2026-08-01"

// betaSystem lets models take system messages in the conversation that did not from
// the start.
const betaSystem = "mid-conversation-system-2026-04-07"

// betaInterleaved lets models with a thinking budget think between calls.
const betaInterleaved = "interleaved-thinking-2025-05-14"

const idPattern = "^[a-zA-Z0-9_-]+$"

var (
	toolID = matching("A-20", idPattern)

	cache = object(need("type", oneOf("A-7", "ephemeral")), optional("ttl", oneOf("A-7", "5m", "1h")),
		optional("scope", text), optional("evict_on_complete", boolean))
	mark = optional("cache_control", cache)

	citationSettings = object(optional("enabled", boolean))

	imageSource = tagged(map[string]shape{
		"base64": object(need("type", text), need("media_type", oneOf("A-46", "image/jpeg", "image/png", "image/gif", "image/webp")), need("data", text)),
		"url":    object(need("type", text), need("url", text)),
		"file":   object(need("type", text), need("file_id", text)),
	}, nil)
	documentSource = tagged(map[string]shape{
		"base64":  object(need("type", text), need("media_type", oneOf("A-7", "application/pdf")), need("data", text)),
		"text":    object(need("type", text), need("media_type", oneOf("A-7", "text/plain")), need("data", text)),
		"url":     object(need("type", text), need("url", text)),
		"file":    object(need("type", text), need("file_id", text)),
		"content": object(need("type", text), need("content", either(array))),
	}, nil)

	textBlock  = object(need("type", oneOf("A-7", "text")), need("text", text), optional("citations", array), mark)
	imageBlock = object(need("type", text), need("source", imageSource), optional("transformations", anything), mark)

	resultContent = tagged(map[string]shape{
		"text": textBlock, "image": imageBlock, "document": documentBlock, "search_result": searchBlock,
		"tool_reference": object(need("type", text), need("tool_name", text), mark),
	}, func(kind string) shape { return knownBlock(kind, "browser_state", "mcp_tool_reference") })

	documentBlock = object(need("type", text), need("source", documentSource), optional("title", text),
		optional("context", text), optional("citations", citationSettings), mark)
	searchBlock = object(need("type", text), need("source", text), need("title", text),
		need("content", list(textBlock)), optional("citations", citationSettings), mark)

	thinkingBlock = object(need("type", text),
		field{name: "signature", need: true, rule: "A-35", shape: text},
		field{name: "thinking", need: true, rule: "ANT-T5", shape: text})
	redactedBlock = object(need("type", text), need("data", text))

	callBlock = object(need("type", text), need("id", toolID), need("name", upTo("A-21", 200)), need("input", callInput),
		optional("caller", dict), optional("toolset_name", text), mark)
	resultBlock = object(need("type", text), need("tool_use_id", toolID), optional("content", either(list(resultContent))),
		optional("is_error", boolean), optional("toolset_name", text), mark)

	// blocks are what a message may hold. Of the blocks of server tools only
	// the ids are known well enough to be checked.
	blocks = tagged(map[string]shape{
		"text": textBlock, "image": imageBlock, "document": documentBlock, "search_result": searchBlock,
		"thinking": thinkingBlock, "redacted_thinking": redactedBlock, "tool_use": callBlock, "tool_result": resultBlock,
		"server_tool_use":  open(need("id", toolID), need("name", text), need("input", callInput)),
		"mcp_tool_use":     open(need("id", toolID), need("name", text), need("input", callInput), need("server_name", text)),
		"container_upload": open(need("file_id", text)),
		"compaction":       open(optional("content", text)),
	}, otherBlock)
)

func callInput(in *inspector, v *tree.Node, at *tree.Path) { isObject(in, v, at, "A-22") }

func otherBlock(kind string) shape {
	if strings.HasSuffix(kind, "_tool_result") {
		return open(need("tool_use_id", toolID))
	}
	return knownBlock(kind, "tool_addition", "tool_removal", "mcp_tool_listing", "fallback", script.FutureBlock)
}

// knownBlock takes anything under one of some types.
func knownBlock(kind string, kinds ...string) shape {
	if slices.Contains(kinds, kind) {
		return open()
	}
	return nil
}

var messageShape = object(
	need("role", oneOf("A-9", "user", "assistant", "system")),
	need("content", either(list(blocks))),
	optional("clear_at", text), optional("output_config", dict))

var customTool = object(
	optional("type", text), need("name", matching("A-21", "^[a-zA-Z0-9_-]{1,128}$")),
	need("input_schema", open(need("type", oneOf("A-7", "object")), optional("properties", dict), optional("required", list(text)))),
	optional("description", text), optional("strict", boolean), optional("eager_input_streaming", boolean),
	optional("defer_loading", boolean), optional("allowed_callers", list(text)), optional("input_examples", array), mark)

// serverTool is the type of a tool of the provider's own. There are ever more, so any name with
// a date is taken.
var serverTool = regexp.MustCompile(`^(mcp_toolset|\w+_\d{8})$`)

// toolShape is a tool of the client's, which need not say its type, or of the
// provider's.
func toolShape(in *inspector, v *tree.Node, at *tree.Path) {
	kind := v.Get("type").Text()
	switch {
	case !isObject(in, v, at, "A-7"):
	case kind == "" || kind == "custom":
		customTool(in, v, in.paths.Member(at, "custom"))
	case serverTool.MatchString(kind):
		open(optional("name", text), mark)(in, v, in.paths.Member(at, kind))
	default:
		in.addFlaw("A-7", at, "Input tag '"+kind+"' found using 'type' does not match any of the expected tags: 'custom' and those of server tools")
	}
}

var (
	single     = optional("disable_parallel_tool_use", boolean)
	toolChoice = tagged(map[string]shape{
		"auto": object(need("type", text), single), "any": object(need("type", text), single),
		"none": object(need("type", text)), "tool": object(need("type", text), need("name", text), single),
	}, nil)

	display  = optional("display", oneOf("A-7", "summarized", "omitted", "updates"))
	thinking = tagged(map[string]shape{
		thinkEnabled:  object(need("type", text), need("budget_tokens", integer(1024)), display, binding),
		thinkAdaptive: object(need("type", text), display, binding),
		thinkDisabled: object(need("type", text)), thinkBetween: object(need("type", text)),
	}, nil)
	binding = optional("block_binding", object(optional("prefix_mismatch_behavior", oneOf("A-7", "error", "drop_block"))))

	effort       = oneOf("A-7", "low", "medium", "high", "xhigh", "max")
	format       = object(need("type", oneOf("A-7", "json_schema")), need("schema", dict), optional("name", text))
	outputConfig = object(optional("effort", effort), optional("format", format), optional("task_budget", dict))
)

// common is what a request for a message and one for its count share.
var common = []field{
	need("model", upTo("A-6", 256)), need("messages", list(messageShape)),
	field{name: "system", takesNoNull: true, shape: either(list(textBlock))}, optional("tools", list(toolShape)), optional("tool_choice", toolChoice),
	optional("thinking", thinking), optional("output_config", outputConfig), optional("output_format", format),
	optional("cache_control", cache), optional("context_management", contextManagement), optional("mcp_servers", list(dict)),
	optional("speed", oneOf("A-7", "standard", "fast")),
}

var (
	wholeCall = object(slices.Concat([]field{need("max_tokens", integer(0))}, common, []field{
		optional("temperature", between(0, 1)), optional("top_p", between(-1, 1)), optional("top_k", integer(-1)),
		optional("stop_sequences", list(text)), optional("stream", boolean),
		optional("metadata", object(optional("user_id", text))), optional("service_tier", oneOf("A-7", "auto", "standard_only")),
		optional("container", either(dict)), optional("inference_geo", text), optional("diagnostics", dict),
		optional("compaction", dict), optional("fallbacks", array), optional("fallback_credit_token", text),
	})...)
	counting = object(common...)
)
