package bench

import (
	"math/rand/v2"
	"strings"
)

// anthropicParams break rules about the parameters of Messages requests. Each
// shows in a single request and is made in all of them: it is the agent's habit.
var anthropicParams = []Kind{
	{Name: "a-unknown-parameter", Rule: "A-5", alter: setParameters(`{"max_completion_tokens":100}`)},
	{Name: "a-parameter-of-other-api", Rule: "A-5", alter: setParameters(`{"frequency_penalty":0.5}`)},
	{Name: "a-reasoning-effort", Rule: "A-5", alter: setParameters(`{"reasoning_effort":"high"}`)},
	{Name: "a-seed", Rule: "A-5", alter: setParameters(`{"seed":7}`)},
	{Name: "a-max-tokens-missing", Rule: "A-6", alter: removeParameter("max_tokens")},
	{Name: "a-messages-missing", Rule: "A-6", alter: removeParameter("messages")},
	{Name: "a-model-missing", Rule: "A-6", alter: removeParameter("model")},
	{Name: "a-tool-schema-without-type", Rule: "A-6 R46", alter: onTools(func(t *node) bool { return t.at("input_schema").isObject() && t.at("input_schema").removeKey("type") })},
	{Name: "a-tool-schema-missing", Rule: "A-6 R46", alter: onTools(func(t *node) bool { return t.removeKey("input_schema") })},
	{Name: "a-tool-schema-array", Rule: "A-7 R46", alter: onTools(setIn("input_schema", "type", `"array"`))},
	{Name: "a-tool-schema-type-list", Rule: "A-7 R46", alter: onTools(setIn("input_schema", "type", `["object","null"]`))},
	{Name: "a-temperature-negative", Rule: "A-7", prepare: withoutMembers(asModel("claude-sonnet-4-5"), "thinking", "temperature", "output_config"), alter: setParameters(`{"temperature":-5}`)},
	{Name: "a-temperature-two", Rule: "A-7", prepare: withoutMembers(asModel("claude-sonnet-4-5"), "thinking", "temperature", "output_config"), alter: setParameters(`{"temperature":2}`)},
	{Name: "a-temperature-string", Rule: "A-7", prepare: withoutMembers(asModel("claude-sonnet-4-5"), "thinking", "temperature", "output_config"), alter: setParameters(`{"temperature":"0.5"}`)},
	{Name: "a-max-tokens-string", Rule: "A-7", alter: setParameters(`{"max_tokens":"1024"}`)},
	{Name: "a-max-tokens-negative", Rule: "A-7", alter: setParameters(`{"max_tokens":-1}`)},
	{Name: "a-max-tokens-above-cap", Rule: "A-7 ANT-M9", prepare: withoutMembers(asModel("claude-sonnet-4-5"), "thinking", "output_config"), alter: setParameters(`{"max_tokens":128001}`)},
	{Name: "a-stream-string", Rule: "A-7", alter: setParameters(`{"stream":"true"}`)},
	{Name: "a-budget-below-1024", Rule: "A-7 ANT-M1", prepare: asManual, alter: setParameters(`{"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":512}}`)},
	{Name: "a-budget-missing", Rule: "A-6", prepare: asManual, alter: setParameters(`{"thinking":{"type":"enabled"}}`)},
	{Name: "a-budget-equals-max-tokens", Rule: "A-25", prepare: asManualKnown, alter: setParameters(`{"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024}}`)},
	{Name: "a-budget-above-max-tokens", Rule: "A-25", prepare: asManualKnown, alter: setParameters(`{"max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":8192}}`)},
	{Name: "a-forced-tool-with-thinking", Rule: "A-26", prepare: asManual, alter: withTools(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"tool_choice":{"type":"any"}}`)},
	{Name: "a-named-tool-with-thinking", Rule: "A-26", prepare: asManual, alter: namedTool},
	{Name: "a-temperature-with-thinking", Rule: "A-27", prepare: asManual, alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"temperature":0.2}`)},
	{Name: "a-top-k-with-thinking", Rule: "A-27", prepare: asManual, alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"top_k":40}`)},
	{Name: "a-top-p-with-thinking", Rule: "A-27", prepare: asManual, alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"top_p":0.5}`)},
	{Name: "a-budget-on-adaptive-model", Rule: "A-28", prepare: asAdaptive("claude-opus-4-7"), alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048}}`)},
	{Name: "a-budget-on-sonnet-5", Rule: "A-28", prepare: asAdaptive("claude-sonnet-5"), alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048}}`)},
	{Name: "a-adaptive-on-old-model", Rule: "A-29", prepare: asManual, alter: setParameters(`{"thinking":{"type":"adaptive"}}`)},
	{Name: "a-disabled-on-always-thinking", Rule: "A-30", prepare: asAdaptive("claude-opus-5-5"), alter: setParameters(`{"thinking":{"type":"disabled"}}`)},
	{Name: "a-disabled-on-fable", Rule: "A-30", prepare: asAdaptive("claude-fable-5"), alter: setParameters(`{"thinking":{"type":"disabled"}}`)},
	{Name: "a-temperature-removed", Rule: "A-31", prepare: asAdaptive("claude-opus-4-7"), alter: setParameters(`{"temperature":0.7}`)},
	{Name: "a-top-p-removed", Rule: "A-31", prepare: asAdaptive("claude-opus-4-8"), alter: setParameters(`{"top_p":0.9}`)},
	{Name: "a-top-k-removed", Rule: "A-31", prepare: asAdaptive("claude-sonnet-5"), alter: setParameters(`{"top_k":40}`)},
	{Name: "a-effort-too-high", Rule: "A-32", prepare: asAdaptive("claude-opus-4-6"), alter: setParameters(`{"output_config":{"effort":"xhigh"}}`)},
	{Name: "a-effort-on-model-without", Rule: "A-32", prepare: asManual, alter: setParameters(`{"output_config":{"effort":"low"}}`)},
	{Name: "a-effort-name-unknown", Rule: "A-32", prepare: asAdaptive("claude-opus-4-7"), alter: setParameters(`{"output_config":{"effort":"ultra"}}`)},
	{Name: "a-effort-minimal", Rule: "A-32", prepare: asAdaptive("claude-opus-4-8"), alter: setParameters(`{"output_config":{"effort":"minimal"}}`)},
	{Name: "a-forced-tool-on-opus-5-5", Rule: "A-33", prepare: asAdaptive("claude-opus-5-5"), alter: withTools(`{"tool_choice":{"type":"any"}}`)},
	{Name: "a-forced-tool-on-fable", Rule: "A-33", prepare: asAdaptive("claude-fable-5-1"), alter: withTools(`{"tool_choice":{"type":"any"}}`)},
	{Name: "a-tool-name-form", Rule: "A-21 R46", alter: newToolNamed("files.read")},
	{Name: "a-tool-name-with-space", Rule: "A-21", alter: newToolNamed("read file")},
	{Name: "a-tool-name-too-long", Rule: "A-21", alter: newToolNamed(strings.Repeat("long_", 30))},
	{Name: "a-tool-names-twice", Rule: "A-21 R46", alter: onEveryPage(doubleTool)},
	{Name: "a-tool-choice-without-tools", Rule: "A-23", alter: withoutTools(`{"tool_choice":{"type":"auto"}}`)},
	{Name: "a-tool-choice-unknown-tool", Rule: "A-23", prepare: asManual, alter: withTools(`{"tool_choice":{"type":"tool","name":"not_declared"}}`)},
	{Name: "a-tool-choice-as-string", Rule: "A-7", alter: withTools(`{"tool_choice":"auto"}`)},
	{Name: "a-tool-choice-required", Rule: "A-7", alter: withTools(`{"tool_choice":{"type":"required"}}`)},
	{Name: "a-strict-tools-21", Rule: "A-48", alter: onEveryPage(strictTools(21))},
	{Name: "a-strict-tool-recursion", Rule: "A-48", alter: onEveryPage(recursiveTool)},
	{Name: "a-tools-missing-for-history", Rule: "ANT-P6", alter: onEveryPage(dropToolsOfHistory)},
	{Name: "a-thinking-off-in-loop", Rule: "A-39", alter: onEveryPage(thinkingOffInLoop)},
	{Name: "a-openai-tool-form", Rule: "A-5 A-6 R46", alter: onTools(openAIToolForm)},
	{Name: "a-system-message-old-model", Rule: "A-9", prepare: withoutMembers(asModel("claude-sonnet-4-5"), "thinking", "output_config"), alter: onEveryPage(systemMessage)},
	{Name: "a-stop-blank", Rule: "A-7", alter: setParameters(`{"stop_sequences":["END","\n"]}`)},
	{Name: "a-system-number", Rule: "A-7", alter: setParameters(`{"system":42}`)},
	{Name: "a-beta-member-without-header", Rule: "R53 A-5", alter: betaMember(`{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`)},
	{Name: "a-binding-without-header", Rule: "A-5 R53", alter: onEveryPage(bindingMember)},
	{Name: "a-mcp-servers-without-header", Rule: "R53 A-5", alter: betaMember(`{"mcp_servers":[{"type":"url","url":"https://example.com/mcp","name":"x"}]}`)},
	{Name: "a-version-header-missing", Rule: "A-1", alter: withoutVersionHeader},
	{Name: "a-interleaved-header-missing", Rule: "ANT-M2 interleaved header", prepare: asManualKnown, alter: withTools(`{"max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":8192}}`)},
}

// openAIParams do the same for Responses requests.
var openAIParams = []Kind{
	{Name: "o-model-missing", Rule: "O-3", alter: removeParameter("model")},
	{Name: "o-input-missing", Rule: "O-3", alter: unsetAlone("input", "previous_response_id", "conversation", "prompt")},
	{Name: "o-tool-name-missing", Rule: "O-3", alter: onTools(func(t *node) bool { return t.at("type").stringValue() == "function" && t.removeKey("name") })},
	{Name: "o-chat-tool-form", Rule: "O-3 O-4 R46", alter: onTools(chatToolForm)},
	{Name: "o-unknown-parameter", Rule: "O-4", alter: setParameters(`{"max_tokens":100}`)},
	{Name: "o-messages-parameter", Rule: "O-4", alter: setParameters(`{"messages":[]}`)},
	{Name: "o-response-format", Rule: "O-4", alter: setParameters(`{"response_format":{"type":"json_object"}}`)},
	{Name: "o-reasoning-effort-flat", Rule: "O-4", alter: setParameters(`{"reasoning_effort":"low"}`)},
	{Name: "o-thinking-parameter", Rule: "O-4", alter: setParameters(`{"thinking":{"type":"enabled"}}`)},
	{Name: "o-stop-parameter", Rule: "O-4", alter: setParameters(`{"stop":["\n"]}`)},
	{Name: "o-stream-string", Rule: "O-5", alter: setParameters(`{"stream":"yes"}`)},
	{Name: "o-store-string", Rule: "O-5", alter: setParameters(`{"store":"false"}`)},
	{Name: "o-temperature-string", Rule: "O-5", prepare: withoutMembers(asModel("gpt-4.1"), "reasoning", "include"), alter: setParameters(`{"temperature":"0.1"}`)},
	{Name: "o-tool-choice-any", Rule: "O-5", alter: withTools(`{"tool_choice":"any"}`)},
	{Name: "o-verbosity-unknown", Rule: "O-5", prepare: withoutMembers(asModel("gpt-5.2"), "text", "temperature", "top_p"), alter: setParameters(`{"text":{"verbosity":"brief"}}`)},
	{Name: "o-truncation-unknown", Rule: "O-5", alter: setParameters(`{"truncation":"middle"}`)},
	{Name: "o-max-output-tokens-10", Rule: "O-6", alter: setParameters(`{"max_output_tokens":10}`)},
	{Name: "o-temperature-negative", Rule: "O-6", prepare: withoutMembers(asModel("gpt-4.1"), "reasoning", "include"), alter: setParameters(`{"temperature":-1}`)},
	{Name: "o-temperature-three", Rule: "O-6", prepare: withoutMembers(asModel("gpt-4.1"), "reasoning", "include"), alter: setParameters(`{"temperature":3}`)},
	{Name: "o-top-p-two", Rule: "O-6", prepare: withoutMembers(asModel("gpt-4.1"), "reasoning", "include"), alter: setParameters(`{"top_p":2}`)},
	{Name: "o-tool-name-form", Rule: "O-18 R46", alter: newToolNamed("files.read")},
	{Name: "o-tool-name-with-space", Rule: "O-18", alter: newToolNamed("read file")},
	{Name: "o-tool-name-empty", Rule: "O-18", alter: newToolNamed("")},
	{Name: "o-strict-without-additional-properties", Rule: "O-19", alter: newToolWith(`{"type":"function","name":"strict_one","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}`)},
	{Name: "o-strict-partial-required", Rule: "O-19", alter: newToolWith(`{"type":"function","name":"strict_two","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}}`)},
	{Name: "o-strict-nested-open-object", Rule: "O-19", alter: newToolWith(`{"type":"function","name":"strict_three","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}},"required":["a"],"additionalProperties":false}}`)},
	{Name: "o-schema-not-object", Rule: "O-20 R46", alter: newToolWith(`{"type":"function","name":"listy","parameters":{"type":"array","items":{"type":"string"}}}`)},
	{Name: "o-schema-array-without-items", Rule: "O-19 R46", alter: newToolWith(`{"type":"function","name":"itemless","parameters":{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false},"strict":true}`)},
	{Name: "o-include-on-plain-model", Rule: "O-21", prepare: withoutMembers(asModel("gpt-4.1"), "reasoning", "include"), alter: setParameters(`{"include":["reasoning.encrypted_content"]}`)},
	{Name: "o-reasoning-on-plain-model", Rule: "O-22", prepare: withoutMembers(asModel("gpt-4o"), "reasoning", "include"), alter: setParameters(`{"reasoning":{"effort":"low"}}`)},
	{Name: "o-effort-minimal-on-5-2", Rule: "O-23", prepare: withoutMembers(asModel("gpt-5.2"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"minimal"}}`)},
	{Name: "o-effort-max-on-5-2", Rule: "O-23", prepare: withoutMembers(asModel("gpt-5.2"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"max"}}`)},
	{Name: "o-effort-none-on-pro", Rule: "O-23", prepare: withoutMembers(asModel("gpt-5.2-pro"), "temperature", "top_p", "reasoning"), alter: setParameters(`{"reasoning":{"effort":"none"}}`)},
	{Name: "o-effort-unknown", Rule: "O-5 O-23", prepare: withoutMembers(asModel("gpt-5.5"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"extreme"}}`)},
	{Name: "o-temperature-while-reasoning", Rule: "O-24", prepare: withoutMembers(asModel("gpt-5.5"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"high"},"temperature":0.2}`)},
	{Name: "o-top-p-while-reasoning", Rule: "O-24", prepare: withoutMembers(asModel("gpt-5.5"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"medium"},"top_p":0.5}`)},
	{Name: "o-logprobs-while-reasoning", Rule: "O-34", prepare: withoutMembers(asModel("gpt-5.5"), "include", "top_logprobs"), alter: setParameters(`{"reasoning":{"effort":"high"},"include":["message.output_text.logprobs"],"top_logprobs":2}`)},
	{Name: "o-temperature-on-5", Rule: "O-24", prepare: withoutMembers(asModel("gpt-5"), "temperature", "top_p", "reasoning"), alter: setParameters(`{"temperature":0.2}`)},
	{Name: "o-previous-and-conversation", Rule: "O-26", alter: setParameters(`{"previous_response_id":"resp_0a1b2c3d4e5f","conversation":"conv_0a1b2c3d4e5f"}`)},
	{Name: "o-previous-of-unstored", Rule: "O-25 R49", alter: previousOfUnstored},
	{Name: "o-tool-choice-unknown", Rule: "O-29", alter: withTools(`{"tool_choice":{"type":"function","name":"not_declared"}}`)},
	{Name: "o-tool-choice-chat-form", Rule: "O-3 O-5", alter: withTools(`{"tool_choice":{"type":"function","function":{"name":"x"}}}`)},
	{Name: "o-json-object-unmentioned", Rule: "O-33", alter: jsonUnmentioned},
	{Name: "o-metadata-17", Rule: "O-6", alter: setParameters(`{"metadata":` + manyPairs(17) + `}`)},
	{Name: "o-reasoning-not-asked-for", Rule: "R16 hidden reasoning never asked for", alter: reasoningNotAsked},
}

// geminiParams do the same for generateContent requests.
var geminiParams = []Kind{
	{Name: "g-unknown-field", Rule: "G-3", alter: setParameters(`{"max_tokens":100}`)},
	{Name: "g-messages-field", Rule: "G-3", alter: setParameters(`{"messages":[]}`)},
	{Name: "g-config-unknown-field", Rule: "G-3", alter: setInConfig(`{"maxTokens":100}`)},
	{Name: "g-config-stop", Rule: "G-3", alter: setInConfig(`{"stop":["x"]}`)},
	{Name: "g-temperature-at-top", Rule: "G-3", alter: setParameters(`{"temperature":0.5}`)},
	{Name: "g-labels", Rule: "G-3 Vertex only", alter: setParameters(`{"labels":{"team":"x"}}`)},
	{Name: "g-contents-missing", Rule: "G-4", alter: removeParameter("contents")},
	{Name: "g-declaration-name", Rule: "G-11 R46", alter: newToolNamed("1bad")},
	{Name: "g-declaration-name-space", Rule: "G-11", alter: newToolNamed("read file")},
	{Name: "g-declaration-name-slash", Rule: "G-11", alter: newToolNamed("files/read")},
	{Name: "g-declaration-twice", Rule: "G-11", alter: onEveryPage(doubleTool)},
	{Name: "g-schema-const", Rule: "G-12 R46", alter: newToolWith(`{"name":"with_const","parameters":{"type":"object","properties":{"a":{"type":"string","const":"x"}}}}`)},
	{Name: "g-schema-dollar-schema", Rule: "G-12", alter: newToolWith(`{"name":"with_schema","parameters":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}}`)},
	{Name: "g-schema-ref", Rule: "G-12", alter: newToolWith(`{"name":"with_ref","parameters":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}}`)},
	{Name: "g-schema-type-list", Rule: "G-12 R46", alter: newToolWith(`{"name":"with_list","parameters":{"type":"object","properties":{"a":{"type":["string","null"]}}}}`)},
	{Name: "g-schema-empty-object", Rule: "G-12", alter: newToolWith(`{"name":"hollow","parameters":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}`)},
	{Name: "g-schema-array-without-items", Rule: "G-12 R46", alter: newToolWith(`{"name":"itemless","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}`)},
	{Name: "g-schema-both-forms", Rule: "G-12", alter: newToolWith(`{"name":"both","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"parametersJsonSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`)},
	{Name: "g-level-and-budget", Rule: "G-23", alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1024}}`)},
	{Name: "g-minimal-on-3-pro", Rule: "G-24", prepare: asModel("gemini-3-pro-preview"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}`)},
	{Name: "g-minimal-on-3-1-pro", Rule: "G-24", prepare: asModel("gemini-3.1-pro-preview"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"minimal"}}`)},
	{Name: "g-minimal-on-3-7-flash", Rule: "G-24", prepare: asModel("gemini-3.7-flash"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}`)},
	{Name: "g-level-unknown", Rule: "G-24", prepare: asModel("gemini-3-flash-preview"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"XHIGH"}}`)},
	{Name: "g-level-on-2-5", Rule: "G-24 R45", prepare: asModel("gemini-2.5-flash"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"HIGH"}}`)},
	{Name: "g-budget-zero-on-pro", Rule: "G-25", prepare: asModel("gemini-2.5-pro"), alter: setInConfig(`{"thinkingConfig":{"thinkingBudget":0}}`)},
	{Name: "g-budget-zero-on-3-pro", Rule: "G-25", prepare: asModel("gemini-3-pro-preview"), alter: setInConfig(`{"thinkingConfig":{"thinkingBudget":0}}`)},
	{Name: "g-server-side-invocations-pre-3", Rule: "G-26", prepare: asModel("gemini-2.5-flash"), alter: setParameters(`{"toolConfig":{"includeServerSideToolInvocations":true}}`)},
	{Name: "g-any-without-tools", Rule: "G-27", alter: withoutTools(`{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`)},
	{Name: "g-allowed-name-undeclared", Rule: "G-27", alter: withTools(`{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["not_declared"]}}}`)},
	{Name: "g-mode-unknown", Rule: "G-27 G-3", alter: withTools(`{"toolConfig":{"functionCallingConfig":{"mode":"REQUIRED"}}}`)},
	{Name: "g-temperature-1000", Rule: "G-28", alter: setInConfig(`{"temperature":1000}`)},
	{Name: "g-temperature-negative", Rule: "G-28", alter: setInConfig(`{"temperature":-0.5}`)},
	{Name: "g-stop-sequences-6", Rule: "G-28", alter: setInConfig(`{"stopSequences":["a","b","c","d","e","f"]}`)},
	{Name: "g-max-output-tokens-string", Rule: "G-28 G-3", alter: setInConfig(`{"maxOutputTokens":"many"}`)},
	{Name: "g-system-as-string", Rule: "G-3", alter: setParameters(`{"systemInstruction":"Be brief."}`)},
}

// thinkingOffInLoop switches thinking off while a tool loop with thinking is open.
func thinkingOffInLoop(d *draft, k int, p *page, _ *rand.Rand) string {
	open := openTurn(p.blocks)
	for _, b := range p.blocks {
		if b.kind == thinkingBlock && b.turn > open && isClaudeManual(d.modelName(k)) {
			p.root.removeKey("thinking")
			return "thinking"
		}
	}
	return ""
}

func systemMessage(_ *draft, _ int, p *page, _ *rand.Rand) string {
	i := p.lastTurn("user")
	if i < 0 {
		return ""
	}
	p.turnList().insertAt(i+1, p.newTurn("system", "Be brief."))
	return pathString([]any{"messages", i + 1})
}

// previousOfUnstored refers to a response that was made with store:false.
func previousOfUnstored(d *draft, r *rand.Rand) (Place, bool) {
	return onPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		if p.root.at("previous_response_id") != nil || !isStateless(d.scene, k, nil) {
			return ""
		}
		for _, b := range p.blocks {
			if b.from == unknownOrigin || b.from.exchange >= k {
				continue
			}
			if id := storedID(d.ev.Exchanges[b.from.exchange].Response.Body); id != "" {
				p.root.setMember("previous_response_id", stringNode(id))
				return "previous_response_id"
			}
		}
		return ""
	})(d, r)
}

// reasoningNotAsked makes a stateless tool loop that never asks for the hidden
// reasoning and never sends it back.
func reasoningNotAsked(d *draft, r *rand.Rand) (Place, bool) {
	calls := false
	for _, k := range d.modelCalls() {
		if !isStateless(d.scene, k, nil) || !isReasoningGPT(d.modelName(k)) || d.requests[k].at("previous_response_id") != nil {
			return Place{}, false
		}
		for _, b := range d.blocks[k] {
			calls = calls || b.kind == callBlock && b.from != unknownOrigin
		}
	}
	if !calls {
		return Place{}, false
	}
	return onEveryPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		p.root.removeKey("include")
		path := "include"
		for i := len(p.blocks) - 1; i >= 0; i-- {
			if b := p.blocks[i]; b.kind == thinkingBlock {
				p.dropBlock(b)
				path = pathString(b.path)
			}
		}
		ex := &d.ev.Exchanges[k]
		d.setReply(k, ex.Response.Status, withoutEncrypted(ex.Response.Body))
		return path
	})(d, r)
}

func providerOf(kinds []Kind, providers []string) []Kind {
	out := make([]Kind, len(kinds))
	for i, k := range kinds {
		k.Providers = providers
		out[i] = k
	}
	return out
}

// withoutEncrypted takes the encrypted reasoning out of a reply, as a provider
// that was not asked for it answers.
func withoutEncrypted(body []byte) []byte {
	lines := strings.Split(string(body), "\n")
	for i, line := range lines {
		data, isData := strings.CutPrefix(line, "data: ")
		doc, ok := parseJSON([]byte(data))
		if !ok {
			continue
		}
		removeDeep(doc, "encrypted_content")
		lines[i] = string(doc.encodeJSON())
		if isData {
			lines[i] = "data: " + lines[i]
		}
	}
	if doc, ok := parseJSON(body); ok {
		removeDeep(doc, "encrypted_content")
		return doc.encodeJSON()
	}
	return []byte(strings.Join(lines, "\n"))
}

func removeDeep(n *node, key string) {
	n.removeKey(key)
	for i := range n.members {
		removeDeep(n.members[i].value, key)
	}
}
