package bench

import (
	"math/rand/v2"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// formFaults put blocks under the wrong speaker or give them a wrong shape.
// Each shows in a single request.
var formFaults = []Kind{
	{Name: "thinking-under-user", Rule: "A-24", Providers: anthropic, alter: addToTurn("user", `{"type":"thinking","thinking":"Hm.","signature":"`+inventedSignature+`"}`)},
	{Name: "call-under-user", Rule: "A-24", Providers: anthropic, alter: addToTurn("user", `{"type":"tool_use","id":"toolu_01Made","name":"made_up","input":{}}`)},
	{Name: "result-under-assistant", Rule: "A-24", Providers: anthropic, alter: addToTurn("assistant", `{"type":"tool_result","tool_use_id":"toolu_01Made","content":"ok"}`)},
	{Name: "image-under-assistant", Rule: "A-24", Providers: anthropic, alter: addToTurn("assistant", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`)},
	{Name: "document-under-assistant", Rule: "A-24", Providers: anthropic, alter: addToTurn("assistant", `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}`)},
	{Name: "redacted-under-user", Rule: "A-24", Providers: anthropic, alter: addToTurn("user", `{"type":"redacted_thinking","data":"`+inventedSignature+`"}`)},
	{Name: "call-in-user-content", Rule: "G-13", Providers: gemini, alter: onNewBlock(roleOfTurn("user"), isKind(callBlock))},
	{Name: "result-in-model-content", Rule: "G-14 G-15", Providers: gemini, alter: onNewBlock(roleOfTurn("model"), isKind(resultBlock))},
	{Name: "text-and-call-in-one-part", Rule: "G-8", Providers: gemini, alter: onNewBlock(setKey("text", `"Calling now."`), isKind(callBlock))},
	{Name: "text-and-response-in-one-part", Rule: "G-8", Providers: gemini, alter: onNewBlock(setKey("text", `"The result:"`), isKind(resultBlock))},
	{Name: "text-and-media-in-one-part", Rule: "G-8", Providers: gemini, alter: onNewBlock(setKey("inlineData", `{"mimeType":"image/png","data":"iVBORw0KGgo="}`), isKind(textBlock), isSaid("user"))},
	{Name: "response-string", Rule: "G-9", Providers: gemini, alter: onNewBlock(resultValue(`"done"`), isKind(resultBlock))},
	{Name: "response-array", Rule: "G-9", Providers: gemini, alter: onNewBlock(resultValue(`[{"output":"done"}]`), isKind(resultBlock))},
	{Name: "response-number", Rule: "G-9", Providers: gemini, alter: onNewBlock(resultValue(`42`), isKind(resultBlock))},
	{Name: "response-boolean", Rule: "G-9", Providers: gemini, alter: onNewBlock(resultValue(`true`), isKind(resultBlock))},
	{Name: "result-object", Rule: "A-24 O-5", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(resultValue(`{"text":"done"}`), isKind(resultBlock))},
	{Name: "result-null", Rule: "O-3 O-5", Providers: openAI, alter: onNewBlock(resultValue(`null`), isKind(resultBlock))},
	{Name: "result-number", Rule: "A-7 O-5", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(resultValue(`42`), isKind(resultBlock))},
	{Name: "result-bare-strings", Rule: "A-7 O-5", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(resultValue(`["done"]`), isKind(resultBlock))},
	{Name: "result-part-type", Rule: "A-7 O-5", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(resultValue(`[{"type":"output_text","text":"done"}]`), isKind(resultBlock))},
	{Name: "error-result-empty", Rule: "A-47", Providers: anthropic, alter: onNewBlock(errorResult(`""`), isKind(resultBlock))},
	{Name: "error-result-image", Rule: "A-47", Providers: anthropic, alter: onNewBlock(errorResult(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]`), isKind(resultBlock))},
	{Name: "unknown-key-in-block", Rule: "A-5 O-4 G-3", Providers: all, alter: onNewBlock(setKey("client_note", `"x"`), isObjectBlock, isKind(textBlock, callBlock, resultBlock, thinkingBlock))},
	{Name: "unknown-key-in-call", Rule: "A-5 O-4 G-3", Providers: all, alter: onNewBlock(unknownInCall, isKind(callBlock))},
	{Name: "unknown-key-in-result", Rule: "A-5 O-4 G-3", Providers: all, alter: onNewBlock(unknownInResult, isKind(resultBlock))},
	{Name: "unknown-key-in-turn", Rule: "A-5 O-4 G-3", Providers: all, alter: eachTurn(`timestamp`, `1763849712`)},
	{Name: "timestamp-in-turn", Rule: "A-5 O-4 G-3", Providers: all, alter: eachTurn(`created_at`, `"2026-11-22T20:15:00Z"`)},
	{Name: "role-tool", Rule: "A-9 O-5 G-5", Providers: all, alter: lastRole("tool")},
	{Name: "role-function", Rule: "A-9 O-5", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: lastRole("function")},
	{Name: "role-of-other-provider", Rule: "A-9 O-5 G-5", Providers: all, alter: otherRole},
	{Name: "role-capitalised", Rule: "A-9 O-5 G-5", Providers: all, alter: lastRole("User")},
	{Name: "text-empty", Rule: "A-11", Providers: anthropic, alter: addToTurn("user", `{"type":"text","text":""}`)},
	{Name: "text-whitespace", Rule: "A-11", Providers: anthropic, alter: addToTurn("user", `{"type":"text","text":" \n "}`)},
	{Name: "assistant-text-empty", Rule: "A-11", Providers: anthropic, alter: addToTurn("assistant", `{"type":"text","text":""}`)},
	{Name: "content-empty", Rule: "A-12 G-6", Providers: []string{evidence.Anthropic, evidence.Gemini}, alter: onPage(emptyTurn)},
	{Name: "part-without-data", Rule: "G-7", Providers: gemini, alter: addToTurn("user", `{}`)},
	{Name: "part-of-other-provider", Rule: "A-7 O-5 G-3", Providers: all, alter: unknownPart},
	{Name: "input-text-under-assistant", Rule: "O-16", Providers: openAI, alter: partType("assistant", "input_text")},
	{Name: "output-text-under-user", Rule: "O-16", Providers: openAI, alter: partType("user", "output_text")},
	{Name: "text-type-under-user", Rule: "O-16", Providers: openAI, alter: partType("user", "text")},
	{Name: "reasoning-text-content", Rule: "O-17", Providers: openAI, alter: onNewBlock(setKey("content", `[{"type":"reasoning_text","text":"raw"}]`), isKind(thinkingBlock))},
	{Name: "input-as-string", Rule: "A-22", Providers: anthropic, alter: onNewBlock(setKey("input", `"{}"`), isKind(callBlock))},
	{Name: "input-as-array", Rule: "A-22", Providers: anthropic, alter: onNewBlock(setKey("input", `[]`), isKind(callBlock))},
	{Name: "input-null", Rule: "A-22", Providers: anthropic, alter: onNewBlock(setKey("input", `null`), isKind(callBlock))},
	{Name: "arguments-as-object", Rule: "O-5", Providers: openAI, alter: onNewBlock(setKey("arguments", `{"a":1}`), isFunctionCall)},
	{Name: "args-as-string", Rule: "G-9", Providers: gemini, alter: onNewBlock(argsValue(`"{}"`), isKind(callBlock))},
	{Name: "args-as-array", Rule: "G-9", Providers: gemini, alter: onNewBlock(argsValue(`["x"]`), isKind(callBlock))},
	{Name: "call-without-input", Rule: "A-6 O-3", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(withoutArguments, isFunctionCall)},
	{Name: "call-without-name", Rule: "A-6 O-3 G-10", Providers: all, alter: onNewBlock(withoutName, isFunctionCall)},
	{Name: "call-without-id", Rule: "A-6 O-3", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(withoutID, isFunctionCall)},
	{Name: "result-without-id", Rule: "A-6 O-3", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(withoutID, isKind(resultBlock))},
	{Name: "result-without-output", Rule: "O-3", Providers: openAI, alter: onNewBlock(removeKey("output"), isKind(resultBlock))},
	{Name: "thinking-without-text", Rule: "ANT-T5 R6", Providers: anthropic, alter: onNewBlock(removeKey("thinking"), isKind(thinkingBlock))},
	{Name: "text-without-text", Rule: "A-6", Providers: anthropic, alter: onNewBlock(removeKey("text"), isObjectBlock, isKind(textBlock))},
	{Name: "ends-with-thinking", Rule: "A-40", Providers: anthropic, alter: onNewBlock(leaveThinkingAlone, isKind(thinkingBlock), hasToken, isFollowed)},
	{Name: "prefill", Rule: "A-14", Providers: anthropic, prepare: asModel("claude-opus-4-6"), alter: onEveryPage(addPrefill("Sure, here it is:"))},
	{Name: "prefill-trailing-space", Rule: "A-13", Providers: anthropic, prepare: asModel("claude-opus-4-5"), alter: onEveryPage(addPrefill("Sure, here it is: "))},
	{Name: "ends-with-model", Rule: "G-16", Providers: gemini, prepare: asModel("gemini-3.6-flash"), alter: onEveryPage(addPrefill("Sure, here it is:"))},
	{Name: "begins-with-assistant", Rule: "A-8", Providers: anthropic, alter: onEveryPage(beginAssistant)},
	{Name: "begins-with-call", Rule: "G-13", Providers: gemini, alter: onPage(beginWithCall)},
	{Name: "text-turn-before-call-turn", Rule: "G-13", Providers: gemini, alter: onNewBlock(splitModelTurn, isKind(callBlock))},
	{Name: "messages-empty", Rule: "A-8 G-4 O-3", Providers: []string{evidence.Anthropic, evidence.Gemini}, alter: onEveryPage(emptyList)},
	{Name: "system-role-misplaced", Rule: "ANT-B8", Providers: anthropic, prepare: asModel("claude-opus-4-8"), alter: onNewBlock(systemAfterAssistant, isSaid("assistant"), isKind(textBlock, callBlock), isFollowed)},
	{Name: "lone-surrogate", Rule: "R33 ANT-X10", Providers: all, alter: onNewBlock(loneSurrogate, isKind(textBlock), isSaid("user"))},
	{Name: "media-type-unknown", Rule: "A-46 O-30", Providers: anthropic, alter: addToTurn("user", `{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"SUkqAAgAAAA="}}`)},
	{Name: "image-not-base64", Rule: "A-46", Providers: anthropic, alter: addToTurn("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%%% not base64 %%%"}}`)},
	{Name: "image-too-large", Rule: "A-46", Providers: anthropic, alter: bigImage},
	{Name: "image-data-url", Rule: "A-46", Providers: anthropic, alter: addToTurn("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"data:image/png;base64,iVBORw0KGgo="}}`)},
	{Name: "file-unsupported", Rule: "O-30", Providers: openAI, alter: onLastPage(addUserItem(`{"role":"user","content":[{"type":"input_file","filename":"a.mp3","file_data":"data:audio/mpeg;base64,SUQzBAAAAAAA"}]}`))},
	{Name: "file-not-data-url", Rule: "O-30", Providers: openAI, alter: onLastPage(addUserItem(`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"JVBERi0xLjQK"}]}`))},
	{Name: "thinking-cache-control", Rule: "A-44", Providers: anthropic, alter: onNewBlock(setKey("cache_control", `{"type":"ephemeral"}`), isKind(thinkingBlock))},
	{Name: "cache-control-empty-text", Rule: "A-11 ANT-X6", Providers: anthropic, alter: addToTurn("user", `{"type":"text","text":"","cache_control":{"type":"ephemeral"}}`)},
	{Name: "five-cache-controls", Rule: "A-43", Providers: anthropic, alter: onLastPage(fiveCacheControls)},
}

func isObjectBlock(_ *scene, _ int, b *block) bool { return b.node.isObject() }

func isFunctionCall(s *scene, _ int, b *block) bool {
	return b.kind == callBlock && (s.provider != evidence.OpenAI || b.node.at("type").stringValue() == "function_call")
}

func setKey(key, value string) blockEdit {
	return func(_ *page, b *block, _ *rand.Rand) bool {
		if !b.node.isObject() {
			return false
		}
		b.node.setMember(key, parseLiteral(value))
		return true
	}
}

func roleOfTurn(role string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		p.turnList().at(b.turn).setMember("role", stringNode(role))
		return true
	}
}

func resultValue(value string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		holder, key := p.resultBody(b)
		holder.setMember(key, parseLiteral(value))
		return true
	}
}

func errorResult(content string) blockEdit {
	return func(_ *page, b *block, _ *rand.Rand) bool {
		b.node.setMember("is_error", parseLiteral("true"))
		b.node.setMember("content", parseLiteral(content))
		return true
	}
}

func argsValue(value string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		holder, key := p.argumentsOf(b)
		holder.setMember(key, parseLiteral(value))
		return true
	}
}

// innerObject is the object that holds the members of a call or result.
func innerObject(b *block) *node {
	if n, _ := b.node.firstOf("functionCall", "function_call", "functionResponse", "function_response"); n != nil {
		return n
	}
	return b.node
}

func unknownInCall(_ *page, b *block, _ *rand.Rand) bool {
	innerObject(b).setMember("duration_ms", parseLiteral("12"))
	return true
}

func unknownInResult(_ *page, b *block, _ *rand.Rand) bool {
	innerObject(b).setMember("exit_code", parseLiteral("0"))
	return true
}

func withoutArguments(p *page, b *block, _ *rand.Rand) bool {
	holder, key := p.argumentsOf(b)
	return holder.removeKey(key)
}

func withoutName(_ *page, b *block, _ *rand.Rand) bool { return innerObject(b).removeKey("name") }

func withoutID(p *page, b *block, _ *rand.Rand) bool {
	if p.provider == evidence.OpenAI {
		return b.node.removeKey("call_id")
	}
	return b.node.removeKey("id") || b.node.removeKey("tool_use_id")
}

// addToTurn adds a block at the end of the last turn of a speaker in the last
// request, where the turn is new and nobody recorded how it was made.
func addToTurn(role, blockText string) func(*draft, *rand.Rand) (Place, bool) {
	return onLastPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		i := p.lastTurn(role)
		if i < 0 || !d.isFreshTurn(k, i) {
			return ""
		}
		content := p.blockList(i)
		if content == nil {
			return ""
		}
		content.appendValue(parseLiteral(blockText))
		return pathString([]any{listKey[p.provider], i, map[bool]string{true: "parts", false: "content"}[p.provider == evidence.Gemini], content.countMembers() - 1})
	})
}

// onLastPage alters the last request, so that no later one lacks the alteration.
func onLastPage(edit func(d *draft, k int, p *page, r *rand.Rand) string) func(*draft, *rand.Rand) (Place, bool) {
	return onPage(func(d *draft, k int, p *page, r *rand.Rand) string {
		if k != lastOf(d.scene) {
			return ""
		}
		return edit(d, k, p, r)
	})
}

// isFreshTurn holds for a turn that the request before does not have and that no
// reply of the recording made.
func (s *scene) isFreshTurn(k, turn int) bool {
	for _, b := range s.blocks[k] {
		if b.turn == turn && (b.from != unknownOrigin || isRepeated(s, k, b)) {
			return false
		}
	}
	return true
}

// lastTurn is the ordinal of the last turn that role said, -1 for none.
func (p *page) lastTurn(role string) int {
	for _, b := range slices.Backward(p.blocks) {
		if b.role == role && (b.kind != resultBlock || p.provider == evidence.Anthropic) {
			return b.turn
		}
	}
	return -1
}

// blockList is the block list of a turn; a string becomes one.
func (p *page) blockList(turn int) *node {
	t := p.turnList().at(turn)
	if p.provider == evidence.Gemini {
		return t.at("parts")
	}
	c := t.at("content")
	if p.provider == evidence.Anthropic && c.isString() {
		c.replaceWith(parseLiteral(`[{"type":"text","text":` + string(c.raw) + `}]`))
	}
	if !c.isArray() {
		return nil
	}
	return c
}

func eachTurn(key, value string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		if p.turnList().countMembers() == 0 {
			return ""
		}
		for _, turn := range elementsOf(p.turnList()) {
			turn.setMember(key, parseLiteral(value))
		}
		return pathString([]any{listKey[p.provider], 0, key})
	})
}

func lastRole(role string) func(*draft, *rand.Rand) (Place, bool) {
	return onLastPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		i := p.lastTurn("user")
		if i < 0 || !d.isFreshTurn(k, i) || p.turnList().at(i).at("role") == nil {
			return ""
		}
		p.turnList().at(i).setMember("role", stringNode(role))
		return pathString([]any{listKey[p.provider], i, "role"})
	})
}

func otherRole(d *draft, r *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		i := p.lastTurn("assistant")
		if i < 0 || p.turnList().at(i).at("role") == nil {
			return ""
		}
		role := "model"
		if p.provider == evidence.Gemini {
			role = "assistant"
		}
		p.turnList().at(i).setMember("role", stringNode(role))
		return pathString([]any{listKey[p.provider], i, "role"})
	})(d, r)
}

func emptyTurn(_ *draft, _ int, p *page, _ *rand.Rand) string {
	for _, b := range p.blocks {
		if b.role != "assistant" || b.kind != textBlock || b.turn+1 >= p.turnList().countMembers() {
			continue
		}
		key := "content"
		if p.provider == evidence.Gemini {
			key = "parts"
		}
		p.turnList().at(b.turn).setMember(key, parseLiteral("[]"))
		return pathString([]any{listKey[p.provider], b.turn})
	}
	return ""
}

// unknownPart sends a part in the form of another provider.
func unknownPart(d *draft, r *rand.Rand) (Place, bool) {
	value := map[string]string{
		evidence.Anthropic: `{"type":"input_text","text":"x"}`, evidence.OpenAI: `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`,
		evidence.Gemini: `{"type":"text","text":"x"}`,
	}
	return addToTurn("user", value[d.provider])(d, r)
}

func partType(role, to string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		for _, b := range p.blocks {
			if b.role == role && b.kind == textBlock && b.node.isObject() {
				b.node.setMember("type", stringNode(to))
				return pathString(b.path)
			}
		}
		for _, b := range p.blocks {
			if b.role == role && b.kind == textBlock && b.node.isString() {
				b.node.replaceWith(parseLiteral(`[{"type":"` + to + `","text":` + string(b.node.raw) + `}]`))
				return pathString(b.path)
			}
		}
		return ""
	})
}

// leaveThinkingAlone drops all but the thinking of a turn without calls.
func leaveThinkingAlone(p *page, b *block, _ *rand.Rand) bool {
	list, i := p.siblingsOf(b)
	for _, c := range p.blocks {
		if c.turn == b.turn && c.kind == callBlock {
			return false
		}
	}
	if list.countMembers() < 2 {
		return false
	}
	list.members = list.members[i : i+1 : i+1]
	return true
}

func addPrefill(text string) func(*draft, int, *page, *rand.Rand) string {
	return func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		if p.turnList().countMembers() == 0 || p.blocks[len(p.blocks)-1].kind != textBlock || p.blocks[len(p.blocks)-1].role != "user" {
			return ""
		}
		if p.root.at("thinking") != nil {
			return ""
		}
		p.turnList().appendValue(p.newTurn("assistant", text))
		return pathString([]any{listKey[p.provider], p.turnList().countMembers() - 1})
	}
}

func beginAssistant(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if p.turnList().countMembers() == 0 {
		return ""
	}
	p.turnList().insertAt(0, p.newTurn("assistant", "How can I help?"))
	return "messages[0]"
}

// beginWithCall drops what stands before the first call.
func beginWithCall(_ *draft, _ int, p *page, _ *rand.Rand) string {
	for _, b := range p.blocks {
		if b.kind == callBlock && b.turn > 0 {
			list := p.turnList()
			list.members = list.members[b.turn:]
			return "contents[0]"
		}
	}
	return ""
}

func splitModelTurn(p *page, b *block, _ *rand.Rand) bool {
	for _, c := range p.blocks {
		if c.turn == b.turn && c.kind == callBlock && c.pos < b.pos {
			return false
		}
	}
	p.turnList().insertAt(b.turn, p.newTurn("assistant", "I will call a tool."))
	return true
}

func emptyList(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if !p.turnList().isArray() || p.turnList().countMembers() == 0 {
		return ""
	}
	p.turnList().members = nil
	return listKey[p.provider]
}

func systemAfterAssistant(p *page, b *block, _ *rand.Rand) bool {
	p.turnList().insertAt(b.turn+1, p.newTurn("system", "Be brief from now on."))
	return true
}

func loneSurrogate(_ *page, b *block, _ *rand.Rand) bool {
	n := b.node
	if n.isObject() {
		n = n.at("text")
	}
	if !n.isString() || len(n.raw) < 3 {
		return false
	}
	n.raw = slices.Concat(n.raw[:len(n.raw)-1], []byte(`\ud83d"`))
	return true
}

func bigImage(d *draft, r *rand.Rand) (Place, bool) {
	data := make([]byte, 7<<20)
	for i := range data {
		data[i] = 'A'
	}
	return addToTurn("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+string(data)+`"}}`)(d, r)
}

func addUserItem(item string) func(*draft, int, *page, *rand.Rand) string {
	return func(d *draft, k int, p *page, _ *rand.Rand) string {
		if !p.turnList().isArray() || len(d.accepted) > 1 && !d.continuesReply(k) {
			return ""
		}
		p.turnList().appendValue(parseLiteral(item))
		return pathString([]any{listKey[p.provider], p.turnList().countMembers() - 1})
	}
}

func fiveCacheControls(d *draft, k int, p *page, _ *rand.Rand) string {
	i := p.lastTurn("user")
	if i < 0 || !d.isFreshTurn(k, i) || p.blockList(i) == nil {
		return ""
	}
	for range 5 {
		p.blockList(i).appendValue(parseLiteral(`{"type":"text","text":"more","cache_control":{"type":"ephemeral"}}`))
	}
	return pathString([]any{"messages", i})
}
