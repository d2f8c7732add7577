package bench

import (
	"math/rand/v2"
	"strings"
)

// legalAnthropicParams are parameters near the faults, which the API takes.
var legalAnthropicParams = []Kind{
	{Name: "a-temperature-0", Rule: "A-7", prepare: asManual, alter: setParameters(`{"temperature":0}`)},
	{Name: "a-temperature-1-with-thinking", Rule: "A-27", prepare: asManual, alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"temperature":1}`)},
	{Name: "a-temperature-1.0-with-thinking", Rule: "A-27", prepare: asManual, alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"temperature":1.0}`)},
	{Name: "a-top-p-0.95-with-thinking", Rule: "A-27", prepare: asManual, alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"top_p":0.95}`)},
	{Name: "a-budget-1024", Rule: "A-7", prepare: asManual, alter: setParameters(`{"max_tokens":1025,"thinking":{"type":"enabled","budget_tokens":1024}}`)},
	{Name: "a-thinking-disabled", Rule: "§6.1", prepare: asManual, alter: setParameters(`{"thinking":{"type":"disabled"}}`)},
	{Name: "a-budget-on-opus-4-6", Rule: "§6.1", prepare: asAdaptive("claude-opus-4-6"), alter: setParameters(`{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048}}`)},
	{Name: "a-adaptive-on-opus-4-6", Rule: "§6.1", prepare: asAdaptive("claude-opus-4-6"), alter: setParameters(`{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`)},
	{Name: "a-xhigh-on-opus-4-7", Rule: "§6.1", prepare: asAdaptive("claude-opus-4-7"), alter: setParameters(`{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"}}`)},
	{Name: "a-disabled-on-opus-4-8", Rule: "§6.1", prepare: asAdaptive("claude-opus-4-8"), alter: setParameters(`{"thinking":{"type":"disabled"}}`)},
	{Name: "a-disabled-on-opus-5-low", Rule: "A-30", prepare: asAdaptive("claude-opus-5"), alter: setParameters(`{"thinking":{"type":"disabled"},"output_config":{"effort":"low"}}`)},
	{Name: "a-effort-on-opus-4-5", Rule: "§6.1", prepare: asAdaptive("claude-opus-4-5"), alter: setParameters(`{"output_config":{"effort":"medium"}}`)},
	{Name: "a-adaptive-on-unknown-model", Rule: "§6.4", prepare: asAdaptive("claude-sonnet-6"), alter: setParameters(`{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`)},
	{Name: "a-adaptive-any-tool", Rule: "A-26 adaptive", prepare: asAdaptive("claude-opus-4-6"), alter: withTools(`{"thinking":{"type":"adaptive"},"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`)},
	{Name: "a-forced-tool-without-thinking", Rule: "A-26", prepare: asManual, alter: withTools(`{"tool_choice":{"type":"any"}}`)},
	{Name: "a-tool-choice-none", Rule: "§2.1", prepare: asManual, alter: withTools(`{"tool_choice":{"type":"none"}}`)},
	{Name: "a-budget-above-max-tokens-interleaved", Rule: "A-25 exception", prepare: asManual, alter: interleavedBudget},
	{Name: "a-max-tokens-64000", Rule: "§6.1", prepare: asManual, alter: setParameters(`{"max_tokens":64000}`)},
	{Name: "a-tool-name-128", Rule: "A-21", alter: newToolNamed(strings.Repeat("x", 128))},
	{Name: "a-tool-name-dashes", Rule: "A-21", alter: newToolNamed("mcp__my-server__Read_File-2")},
	{Name: "a-tool-with-ref", Rule: "A-48 strict only", alter: newToolWith(`{"name":"with_ref","input_schema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}},"$schema":"https://json-schema.org/draft/2020-12/schema"}}`)},
	{Name: "a-tool-with-nullable", Rule: "§2.1", alter: newToolWith(`{"name":"nullable","input_schema":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]},"c":{"type":"array","items":{}}},"additionalProperties":false}}`)},
	{Name: "a-tool-empty-schema", Rule: "§2.1", alter: newToolWith(`{"name":"nothing","input_schema":{"type":"object"}}`)},
	{Name: "a-tool-type-custom", Rule: "§2.1", alter: newToolWith(`{"type":"custom","name":"typed","description":"x","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}`), lossy: true},
	{Name: "a-server-tool", Rule: "§2.1", alter: newToolWith(`{"type":"web_search_20250305","name":"web_search","max_uses":3}`)},
	{Name: "a-stop-sequences", Rule: "§2.1", alter: setParameters(`{"stop_sequences":["END","STOP"],"metadata":{"user_id":"u1"},"service_tier":"auto"}`)},
	{Name: "a-strict-tool", Rule: "A-48", alter: onEveryPage(strictTools(1))},
	{Name: "a-beta-member-with-header", Rule: "R53", alter: withBeta("context-management-2025-06-27", `{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`)},
	{Name: "a-mcp-servers-with-header", Rule: "R53", alter: withBeta("mcp-client-2025-11-20", `{"mcp_servers":[{"type":"url","url":"https://example.com/mcp","name":"x"}]}`)},
	{Name: "a-binding-with-header", Rule: "ANT-B4", prepare: asAdaptive("claude-opus-5-5"), alter: withBeta("thinking-binding-controls-2026-08-01", `{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}`)},
	{Name: "a-new-beta-header", Rule: "R53", alter: withBeta("some-new-feature-2027-01-01", `{"metadata":{"user_id":"u2"}}`)},
	{Name: "a-webp-image", Rule: "A-46", alter: addToTurn("user", `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="}}`)},
	{Name: "a-image-by-url", Rule: "§2.1", alter: addToTurn("user", `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`)},
	{Name: "a-search-result-block", Rule: "§2.1", alter: addToTurn("user", `{"type":"search_result","source":"https://example.com","title":"t","content":[{"type":"text","text":"x"}]}`)},
	{Name: "a-error-result-text", Rule: "A-47", alter: onNewBlock(errorResult(`"failed: no such file"`), isKind(resultBlock))},
	{Name: "a-result-empty", Rule: "§2.1 content optional", alter: onNewBlock(resultValue(`""`), isKind(resultBlock), isNoError)},
	{Name: "a-result-with-image", Rule: "§2.1", alter: onNewBlock(resultValue(`[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]`), isKind(resultBlock), isNoError)},
}

// legalOpenAIParams are the same for Responses.
var legalOpenAIParams = []Kind{
	{Name: "o-temperature-on-plain-model", Rule: "O-24", prepare: withoutMembers(asModel("gpt-4.1"), "reasoning", "include"), alter: setParameters(`{"temperature":0.3,"top_p":0.8}`)},
	{Name: "o-logprobs-with-effort-none", Rule: "O-34", prepare: withoutMembers(asModel("gpt-5.2"), "include", "reasoning"), alter: setParameters(`{"include":["message.output_text.logprobs"],"top_logprobs":2,"reasoning":{"effort":"none"}}`)},
	{Name: "o-temperature-with-effort-none", Rule: "O-24", prepare: withoutMembers(asModel("gpt-5.2"), "temperature", "top_p", "reasoning"), alter: setParameters(`{"temperature":0.3,"reasoning":{"effort":"none"}}`)},
	{Name: "o-temperature-default-effort-5-4", Rule: "O-24 §6.2", prepare: withoutMembers(asModel("gpt-5.4"), "temperature", "top_p", "reasoning"), alter: setParameters(`{"temperature":0.3}`)},
	{Name: "o-effort-max-on-5-6", Rule: "§6.2", prepare: withoutMembers(asModel("gpt-5.6-sol"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"max"}}`)},
	{Name: "o-effort-minimal-on-5", Rule: "O-23", prepare: withoutMembers(asModel("gpt-5"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"minimal"}}`)},
	{Name: "o-effort-xhigh-on-5-2", Rule: "§6.2", prepare: withoutMembers(asModel("gpt-5.2"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"xhigh","summary":"auto"}}`)},
	{Name: "o-effort-on-unknown-model", Rule: "§6.4", prepare: withoutMembers(asModel("gpt-7-nova"), "temperature", "top_p"), alter: setParameters(`{"reasoning":{"effort":"max"}}`)},
	{Name: "o-max-output-tokens-16", Rule: "O-6", alter: setParameters(`{"max_output_tokens":16}`)},
	{Name: "o-json-object-mentioned", Rule: "O-33", alter: setParameters(`{"text":{"format":{"type":"json_object"}},"input":[{"role":"developer","content":"Answer in JSON."},{"role":"user","content":"hi"}]}`)},
	{Name: "o-metadata-16", Rule: "§2.2", alter: setParameters(`{"metadata":` + manyPairs(16) + `}`)},
	{Name: "o-known-parameters", Rule: "§2.2", alter: setParameters(`{"prompt_cache_key":"k","safety_identifier":"s","service_tier":"auto","max_tool_calls":5}`)},
	{Name: "o-verbosity-low", Rule: "§2.2", prepare: withoutMembers(asModel("gpt-5.2"), "text", "temperature", "top_p"), alter: setParameters(`{"text":{"verbosity":"low"}}`)},
	{Name: "o-tool-choice-required", Rule: "§2.2", alter: withTools(`{"tool_choice":"required"}`)},
	{Name: "o-tool-choice-allowed-tools", Rule: "§2.2", alter: allowedTools},
	{Name: "o-strict-false-partial", Rule: "O-19 strict only", alter: newToolWith(`{"type":"function","name":"loose","strict":false,"parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}}`)},
	{Name: "o-strict-absent-partial", Rule: "§2.2 strict omitted falls back", alter: newToolWith(`{"type":"function","name":"loose","parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}}`)},
	{Name: "o-strict-complete", Rule: "O-19", alter: newToolWith(`{"type":"function","name":"tight","strict":true,"parameters":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"integer"}},"required":["c"],"additionalProperties":false}}},"required":["a","b"],"additionalProperties":false}}`)},
	{Name: "o-parameters-null", Rule: "§2.2", alter: newToolWith(`{"type":"function","name":"nothing","description":"x","parameters":null,"strict":false}`)},
	{Name: "o-custom-tool", Rule: "§2.2", alter: newToolWith(`{"type":"custom","name":"apply_patch","description":"x","format":{"type":"text"}}`)},
	{Name: "o-hosted-tool", Rule: "§2.2", alter: newToolWith(`{"type":"web_search"}`)},
	{Name: "o-namespace-tool", Rule: "R51", alter: newToolWith(`{"type":"namespace","name":"mcp__srv","description":"x","tools":[{"type":"function","name":"read","parameters":{"type":"object","properties":{}},"strict":false}]}`)},
	{Name: "o-image-part", Rule: "§2.2", alter: onLastPage(addUserItem(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}]}`))},
	{Name: "o-pdf-part", Rule: "O-30", alter: onLastPage(addUserItem(`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}]}`))},
	{Name: "o-output-parts", Rule: "§2.2", alter: onNewBlock(resultValue(`[{"type":"input_text","text":"done"}]`), isKind(resultBlock))},
	{Name: "o-output-empty", Rule: "§2.2", alter: onNewBlock(resultValue(`""`), isKind(resultBlock))},
}

// legalGeminiParams are the same for generateContent.
var legalGeminiParams = []Kind{
	{Name: "g-minimal-on-3-flash", Rule: "§6.3", prepare: asModel("gemini-3-flash-preview"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}`)},
	{Name: "g-level-high-on-3-pro", Rule: "§6.3", prepare: asModel("gemini-3-pro-preview"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"high","includeThoughts":true}}`)},
	{Name: "g-level-on-unknown-model", Rule: "§6.4", prepare: asModel("gemini-5-neon"), alter: setInConfig(`{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}`)},
	{Name: "g-budget-dynamic", Rule: "§2.3", prepare: asModel("gemini-2.5-pro"), alter: setInConfig(`{"thinkingConfig":{"thinkingBudget":-1}}`)},
	{Name: "g-budget-zero-on-flash", Rule: "G-25", prepare: asModel("gemini-2.5-flash"), alter: setInConfig(`{"thinkingConfig":{"thinkingBudget":0}}`)},
	{Name: "g-temperature-2", Rule: "G-28", alter: setInConfig(`{"temperature":2,"topP":0.9,"topK":40,"seed":5}`)},
	{Name: "g-stop-sequences-5", Rule: "§2.3", alter: setInConfig(`{"stopSequences":["a","b","c","d","e"]}`)},
	{Name: "g-safety-settings", Rule: "§2.3", alter: setParameters(`{"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]}`)},
	{Name: "g-name-with-dots", Rule: "G-11", alter: newToolNamed("_srv.tool:read-1")},
	{Name: "g-name-64", Rule: "G-11", alter: newToolNamed(strings.Repeat("n", 64))},
	{Name: "g-schema-upper-case", Rule: "§2.3", alter: newToolWith(`{"name":"upper","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true,"enum":["x"]},"b":{"type":"ARRAY","items":{"type":"INTEGER"}}},"required":["a"]}}`)},
	{Name: "g-schema-json", Rule: "§2.3", alter: newToolWith(`{"name":"json","parametersJsonSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"type":["string","null"]},"c":{"const":1}},"$defs":{"a":{"type":"string"}},"additionalProperties":false}}`)},
	{Name: "g-declaration-without-parameters", Rule: "§2.3", alter: newToolWith(`{"name":"nothing","description":"x"}`)},
	{Name: "g-mode-any", Rule: "G-27", alter: withTools(`{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`)},
	{Name: "g-mode-auto-with-tools", Rule: "G-27", alter: withTools(`{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}`)},
	{Name: "g-mode-validated", Rule: "§2.3", alter: withTools(`{"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}}`)},
	{Name: "g-response-any-keys", Rule: "§2.3", alter: onNewBlock(resultValue(`{"stdout":"failed","code":1}`), isKind(resultBlock))},
	{Name: "g-response-empty-object", Rule: "G-9", alter: onNewBlock(resultValue(`{}`), isKind(resultBlock))},
	{Name: "g-media-part", Rule: "§2.3", alter: addToTurn("user", `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}`)},
	{Name: "g-file-part", Rule: "§2.3", alter: addToTurn("user", `{"fileData":{"mimeType":"video/mp4","fileUri":"https://www.youtube.com/watch?v=x"},"videoMetadata":{"fps":1}}`)},
}

// interleavedBudget lets the budget exceed max_tokens, as the beta allows with tools.
func interleavedBudget(d *draft, r *rand.Rand) (Place, bool) {
	for _, k := range d.asked {
		if !keepsHeaders(&d.ev.Exchanges[k]) || d.requests[k].at("tools").countMembers() == 0 {
			return Place{}, false
		}
	}
	for _, k := range d.asked {
		d.addBeta(k, "interleaved-thinking-2025-05-14")
	}
	return withTools(`{"max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":8192}}`)(d, r)
}

// withBeta sets members together with the header that allows them.
func withBeta(beta, members string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		for _, k := range d.asked {
			if !keepsHeaders(&d.ev.Exchanges[k]) {
				return Place{}, false
			}
		}
		for _, k := range d.asked {
			d.addBeta(k, beta)
		}
		return setParameters(members)(d, r)
	}
}

func (d *draft) addBeta(k int, beta string) {
	h := d.ev.Exchanges[k].Request.Header.Clone()
	h.Set("Anthropic-Beta", strings.Trim(h.Get("Anthropic-Beta")+","+beta, ","))
	d.ev.Exchanges[k].Request.Header = h
}

func isNoError(_ *scene, _ int, b *block) bool { return !b.node.at("is_error").isTrue() }

// allowedTools restricts the choice to the first declared function.
func allowedTools(d *draft, r *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		tool := p.root.at("tools", 0)
		if tool.at("type").stringValue() != "function" {
			return ""
		}
		return setMembers(p.root, `{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":`+string(tool.at("name").raw)+`}]}}`)
	})(d, r)
}

// legalParams lists the legal parameters of all providers.
func legalParams() []Kind {
	var out []Kind
	out = append(out, providerOf(legalAnthropicParams, anthropic)...)
	out = append(out, providerOf(legalOpenAIParams, openAI)...)
	return append(out, providerOf(legalGeminiParams, gemini)...)
}
