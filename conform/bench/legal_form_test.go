package bench

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// legalForms say the same in another form, or leave out what may be left out.
var legalForms = []Kind{
	{Name: "keys-reordered", Rule: "§3.4 key order", Providers: all, alter: onEveryPage(rotateKeys)},
	{Name: "keys-reordered-in-turns", Rule: "§3.4 key order", Providers: all, alter: onEveryPage(rotateTurnKeys)},
	{Name: "keys-reordered-later", Rule: "§3.4 key order", Providers: all, alter: laterRequests(func(p *page, r *rand.Rand) string { return rotateKeys(nil, 0, p, r) })},
	{Name: "escaped-text", Rule: "escapes without effect", Providers: all, alter: onEveryPage(escapeStrings)},
	{Name: "white-space", Rule: "§3.4 white space", Providers: all, alter: onEveryPage(indentBody)},
	{Name: "number-spelling", Rule: "number spelling", Providers: all, alter: onEveryPage(spellNumbers)},
	{Name: "snake-case", Rule: "§1.3 proto-JSON", Providers: gemini, alter: onEveryPage(snakeCase)},
	{Name: "lower-case-level", Rule: "§1.3 enums", Providers: gemini, alter: onEveryPage(lowerLevel)},
	{Name: "tools-bare-object", Rule: "§1.3 tools", Providers: gemini, alter: onEveryPage(bareTools)},
	{Name: "role-absent", Rule: "§2.3 absent role is user", Providers: gemini, alter: onEveryPage(dropUserRoles)},
	{Name: "base64-url-tokens", Rule: "proto-JSON bytes", Providers: gemini, alter: onEveryPage(urlTokens)},
	{Name: "empty-user-text", Rule: "G-7 REC", Providers: gemini, alter: addToTurn("user", `{"text":""}`)},
	{Name: "response-not-a-thought", Rule: "§2.3 REC", Providers: gemini, alter: onBlock(setKey("thought", "false"), isKind(resultBlock), isNew)},
	{Name: "token-on-response-too", Rule: "GEM-S7", Providers: gemini, alter: onBlock(tokenOnResponseToo, isKind(callBlock), hasToken, hasResult, isNew)},
	{Name: "dummy-token", Rule: "G-20", Providers: gemini, alter: onBlock(tokenEdit(func(string, *rand.Rand) string { return "skip_thought_signature_validator" }), isKind(callBlock), hasToken, isBeforeReplies)},
	{Name: "response-id-alone", Rule: "G-32 REC", Providers: gemini, alter: onBlock(responseID, isKind(resultBlock), hasNoID, isNew)},
	{Name: "thought-parts-left-out", Rule: "D-23", Providers: gemini, alter: onBlock(dropBlock, isKind(thinkingBlock), hasNeighbour, hasNoToken, isNew)},
	{Name: "user-turn-split", Rule: "A-10 G-31", Providers: []string{evidence.Anthropic, evidence.Gemini}, alter: splitUserTurn},
	{Name: "text-after-results", Rule: "A-16", Providers: anthropic, alter: onBlock(textAfterResult, isKind(resultBlock), isNew, inLastCall)},
	{Name: "steering-after-results", Rule: "R40", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: steerAtEnd},
	{Name: "content-as-string", Rule: "§2.1 string is one block", Providers: anthropic, alter: onEveryPage(blocksToStrings)},
	{Name: "content-as-blocks", Rule: "§2.1 string is one block", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onEveryPage(stringsToBlocks)},
	{Name: "result-as-blocks", Rule: "§2.1 tool_result content", Providers: anthropic, alter: onEveryPage(resultsToBlocks)},
	{Name: "system-as-blocks", Rule: "§2.1 system", Providers: anthropic, alter: onEveryPage(systemToBlocks)},
	{Name: "is-error-false", Rule: "§2.1 tool_result", Providers: anthropic, alter: onEveryPage(errorFalse)},
	{Name: "cache-marks-removed", Rule: "ANT-B cache_control", Providers: anthropic, alter: onEveryPage(dropCacheMarks)},
	{Name: "cache-marks-moved", Rule: "ANT-B cache_control", Providers: anthropic, alter: laterRequests(moveCacheMark)},
	{Name: "deferred-tool-added", Rule: "ANT-B defer_loading", Providers: anthropic, alter: laterRequests(addDeferredTool)},
	{Name: "thinking-left-out-finished", Rule: "ANT-T8", Providers: anthropic, alter: onEveryPage(dropFinishedThinking), lossy: true},
	{Name: "all-thinking-left-out-adaptive", Rule: "ANT-B3", Providers: anthropic, alter: onEveryPage(dropThinkingAdaptive), lossy: true},
	{Name: "dated-model-name", Rule: "§6.1 aliases", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onEveryPage(datedModel)},
	{Name: "alias-model-name", Rule: "§6.1 aliases", Providers: anthropic, alter: onEveryPage(aliasModel)},
	{Name: "alias-model-name-later", Rule: "§6.1 aliases", Providers: anthropic, alter: laterRequests(func(p *page, r *rand.Rand) string { return aliasModel(nil, 0, p, r) })},
	{Name: "dated-model-name-later", Rule: "§6.1 aliases", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: laterRequests(func(p *page, r *rand.Rand) string { return datedModel(nil, 0, p, r) })},
	{Name: "parameters-changed-later", Rule: "ANT-B any parameter", Providers: all, alter: laterRequests(otherParameters)},
	{Name: "metadata-changed-later", Rule: "ANT-B any parameter", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: laterRequests(otherMetadata)},
	{Name: "tool-choice-changed-later", Rule: "ANT-B tool_choice", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: laterRequests(otherToolChoice)},
	{Name: "ids-left-out-stateless", Rule: "§5.2 pairing matrix", Providers: openAI, alter: onEveryPage(dropItemIDs)},
	{Name: "call-item-ids-left-out-stateless", Rule: "OAI-I5", Providers: openAI, alter: onEveryPage(dropCallItemIDs)},
	{Name: "item-references", Rule: "§2 item_reference", Providers: openAI, alter: onEveryPage(itemReferences)},
	{Name: "previous-response-id", Rule: "§2.2 previous_response_id", Providers: openAI, alter: previousResponse},
	{Name: "status-left-out", Rule: "§2.2 optional status", Providers: openAI, alter: onEveryPage(dropFromItems("status"))},
	{Name: "annotations-emptied", Rule: "§2.2 optional", Providers: openAI, alter: onEveryPage(dropLogprobs)},
	{Name: "easy-assistant-message", Rule: "§2.2 message (easy)", Providers: openAI, alter: onEveryPage(easyMessages)},
	{Name: "type-message-left-out", Rule: "§2.2 type omitted", Providers: openAI, alter: onEveryPage(dropMessageType)},
	{Name: "developer-message-appended", Rule: "OAI-B1", Providers: openAI, alter: onPage(appendDeveloper)},
	{Name: "system-message-appended", Rule: "ANT-B8", Providers: anthropic, prepare: asModel("claude-opus-4-8"), alter: onPage(appendSystem)},
	{Name: "headers-lower-case", Rule: "HTTP", Providers: all, alter: editHeaders(lowerHeaders)},
	{Name: "headers-added", Rule: "HTTP", Providers: all, alter: editHeaders(addHeaders)},
	{Name: "bearer-instead-of-key", Rule: "§1.1 auth", Providers: anthropic, alter: editHeaders(bearerAuth)},
	{Name: "interleaved-header-added", Rule: "§6.1 accepted everywhere", Providers: anthropic, alter: editHeaders(interleavedHeader)},
	{Name: "key-in-query", Rule: "§1.3 auth", Providers: gemini, alter: keyInQuery},
	{Name: "attribution-block", Rule: "Claude Code's checksum", Providers: anthropic, alter: onEveryPage(attributionBlock)},
	{Name: "reply-ping-added", Rule: "§3.1 ping", Providers: anthropic, alter: editReplies(addPing)},
	{Name: "reply-unknown-event", Rule: "§1.4 unknown events", Providers: anthropic, alter: editReplies(addUnknownEvent)},
	{Name: "reply-comment-added", Rule: "§1.4 comments", Providers: all, alter: editReplies(addComment)},
	{Name: "reply-done-added", Rule: "§1.4 [DONE]", Providers: []string{evidence.OpenAI}, alter: editReplies(addDone)},
	{Name: "reply-other-line-ends", Rule: "§1.4 LF or CRLF", Providers: all, alter: editReplies(otherLineEnds)},
	{Name: "reply-unknown-members", Rule: "forward compatible", Providers: all, alter: editReplies(unknownMembers)},
	{Name: "reply-unknown-usage", Rule: "forward compatible", Providers: all, alter: editReplies(unknownUsage)},
	{Name: "prompt-with-marks", Rule: "user's own words", Providers: all, alter: promptMarks},
	{Name: "other-host", Rule: "hosts judged by format", Providers: openAI, alter: otherHost},
	{Name: "explicit-defaults", Rule: "§2 defaults", Providers: all, alter: onEveryPage(explicitDefaults)},
}

func tokenOnResponseToo(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	if result == nil {
		return false
	}
	result.node.setMember(b.tokenKey, stringNode(b.token))
	return true
}

// isBeforeReplies holds for what was said before the recording began.
func isBeforeReplies(s *scene, k int, _ *block) bool { return k == s.accepted[0] }

func hasNoID(_ *scene, _ int, b *block) bool { return b.id == "" }

func hasNoToken(_ *scene, _ int, b *block) bool { return b.token == "" }

func responseID(_ *page, b *block, _ *rand.Rand) bool {
	innerObject(b).setMember("id", stringNode("call_7f31"))
	return true
}

// splitUserTurn makes two turns of the newest prompt, as the first request that
// has it and all later ones do.
func splitUserTurn(d *draft, r *rand.Rand) (Place, bool) {
	return onBlock(func(p *page, b *block, _ *rand.Rand) bool {
		p.turnList().insertAt(b.turn+1, p.newTurn("user", "And be quick."))
		return true
	}, isSaid("user"), isKind(textBlock), isNew, isLastTurn)(d, r)
}

func isLastTurn(s *scene, k int, b *block) bool {
	return b == s.blocks[k][len(s.blocks[k])-1] && k == lastOf(s)
}

func lastOf(s *scene) int {
	list := s.modelCalls()
	return list[len(list)-1]
}

// inLastCall keeps later requests from lacking the alteration.
func inLastCall(s *scene, k int, _ *block) bool { return k == lastOf(s) }

func textAfterResult(p *page, b *block, _ *rand.Rand) bool {
	list := p.turnList().at(b.turn).at("content")
	if !list.isArray() || b.sentBefore || b != p.blocks[len(p.blocks)-1] {
		return false
	}
	list.appendValue(parseLiteral(`{"type":"text","text":"Be quick about it."}`))
	return true
}

// steerAtEnd adds what the user says meanwhile behind the results.
func steerAtEnd(d *draft, _ *rand.Rand) (Place, bool) {
	k := lastOf(d.scene)
	p := d.editableRequest(k)
	if len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].kind != resultBlock {
		return Place{}, false
	}
	p.turnList().appendValue(p.newTurn("user", "Meanwhile: leave the docs alone."))
	return d.placeAt(k, nil), d.commitPage(k, p)
}

func blocksToStrings(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, turn := range elementsOf(p.turnList()) {
		c := turn.at("content")
		if c.countMembers() == 1 && c.at(0, "type").stringValue() == "text" && c.at(0).countMembers() == 2 {
			turn.setMember("content", c.at(0, "text"))
			changed = "messages"
		}
	}
	return changed
}

func stringsToBlocks(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, turn := range elementsOf(p.turnList()) {
		c, kind := turn.at("content"), "text"
		if p.provider == evidence.OpenAI {
			kind = "input_text"
			if turn.at("role").stringValue() == "assistant" {
				kind = "output_text"
			}
		}
		if c.isString() && c.stringValue() != "" {
			turn.setMember("content", parseLiteral(`[{"type":"`+kind+`","text":`+string(c.raw)+`}]`))
			changed = listKey[p.provider]
		}
	}
	return changed
}

func resultsToBlocks(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, b := range p.blocks {
		if c := b.node.at("content"); b.kind == resultBlock && c.isString() && strings.TrimSpace(c.stringValue()) != "" {
			b.node.setMember("content", parseLiteral(`[{"type":"text","text":`+string(c.raw)+`}]`))
			changed = pathString(b.path)
		}
	}
	return changed
}

func systemToBlocks(_ *draft, _ int, p *page, _ *rand.Rand) string {
	s := p.root.at("system")
	if !s.isString() || strings.TrimSpace(s.stringValue()) == "" {
		return ""
	}
	p.root.setMember("system", parseLiteral(`[{"type":"text","text":`+string(s.raw)+`}]`))
	return "system"
}

func errorFalse(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, b := range p.blocks {
		if b.kind == resultBlock && b.node.at("is_error") == nil {
			b.node.setMember("is_error", parseLiteral("false"))
			changed = pathString(b.path)
		}
	}
	return changed
}

func dropCacheMarks(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	walkNodes(p.root, func(n *node) {
		if n.isObject() && n.at("cache_control", "type") != nil {
			n.removeKey("cache_control")
			changed = "="
		}
	})
	return changed
}

func moveCacheMark(p *page, r *rand.Rand) string {
	dropCacheMarks(nil, 0, p, r)
	last := p.blocks[len(p.blocks)-1]
	if !last.node.isObject() || last.kind == thinkingBlock || last.kind == hiddenBlock {
		return ""
	}
	last.node.setMember("cache_control", parseLiteral(`{"type":"ephemeral"}`))
	return pathString(last.path)
}

func addDeferredTool(p *page, _ *rand.Rand) string {
	list, path := p.toolList()
	if list.countMembers() == 0 {
		return ""
	}
	tool := p.newTool("rarely_used")
	tool.setMember("defer_loading", parseLiteral("true"))
	list.appendValue(tool)
	return path
}

func dropFinishedThinking(_ *draft, _ int, p *page, _ *rand.Rand) string {
	return dropThinkingWhere(p, func(b *block) bool { return b.turn < openTurn(p.blocks) })
}

func dropThinkingWhere(p *page, fits func(b *block) bool) string {
	changed := ""
	for _, b := range slices.Backward(p.blocks) {
		if (b.kind == thinkingBlock || b.kind == hiddenBlock) && b.tokenKey != "encrypted_content" && fits(b) {
			list, i := p.siblingsOf(b)
			if list == nil || list.countMembers() < 2 {
				return ""
			}
			list.removeAt(i)
			changed = pathString(b.path)
		}
	}
	return changed
}

func dropThinkingAdaptive(d *draft, k int, p *page, _ *rand.Rand) string {
	if p.root.at("thinking", "type").stringValue() != "adaptive" && !isClaudeAdaptiveOnly(d.modelName(k)) {
		return ""
	}
	return dropThinkingWhere(p, func(*block) bool { return true })
}
