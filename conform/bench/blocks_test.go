package bench

import "github.com/meerkat-go/conformance/conform/evidence"

// blockKind says what a block is, in one vocabulary for all providers.
type blockKind int

const (
	otherBlock    blockKind = iota
	textBlock               // of the user or the model
	thinkingBlock           // thinking, reasoning, thought
	hiddenBlock             // redacted_thinking, compaction
	callBlock
	resultBlock
	mediaBlock
)

// block is one block of a request: an Anthropic block, an OpenAI item or
// content part, a Gemini part.
type block struct {
	kind blockKind
	role string // user, assistant, system
	path []any
	node *node // the block, or the string that stands for it
	turn int   // ordinal in messages, input or contents
	pos  int   // ordinal in its turn

	id, name, text, token string
	tokenKey              string
	itemID                string
	from                  origin
	sentBefore            bool // an earlier request has it in the same place
}

// origin is where a block was issued; exchange is -1 when nobody recorded it.
type origin struct{ exchange, item int }

var unknownOrigin = origin{-1, -1}

// listKey names the conversation in a request.
var listKey = map[string]string{evidence.Anthropic: "messages", evidence.OpenAI: "input", evidence.Gemini: "contents"}

// readBlocks lists the blocks of a request in order.
func readBlocks(provider string, root *node) []*block {
	key := listKey[provider]
	list := root.at(key)
	if !list.isArray() {
		return nil
	}
	var out []*block
	for i := range list.members {
		turn := list.members[i].value
		var found []*block
		switch provider {
		case evidence.Anthropic:
			found = anthropicTurn(turn)
		case evidence.OpenAI:
			found = openAIItem(turn)
		case evidence.Gemini:
			found = geminiContent(turn)
		}
		for _, b := range found {
			b.turn, b.from = i, unknownOrigin
			b.path = append([]any{key, i}, b.path...)
			b.node = root.at(b.path...)
		}
		out = append(out, found...)
	}
	return out
}

func anthropicTurn(turn *node) []*block {
	role := turn.at("role").stringValue()
	content := turn.at("content")
	if content.isString() {
		return []*block{{kind: textBlock, role: role, text: content.stringValue(), path: []any{"content"}}}
	}
	var out []*block
	for j := range content.countMembers() {
		b := anthropicBlock(content.at(j))
		b.role, b.pos, b.path = role, j, []any{"content", j}
		out = append(out, b)
	}
	return out
}

func anthropicBlock(n *node) *block {
	b := &block{name: n.at("name").stringValue()}
	switch n.at("type").stringValue() {
	case "text":
		b.kind, b.text = textBlock, n.at("text").stringValue()
	case "thinking":
		b.kind, b.text, b.token, b.tokenKey = thinkingBlock, n.at("thinking").stringValue(), n.at("signature").stringValue(), "signature"
	case "redacted_thinking":
		b.kind, b.token, b.tokenKey = hiddenBlock, n.at("data").stringValue(), "data"
	case "tool_use":
		b.kind, b.id = callBlock, n.at("id").stringValue()
	case "tool_result":
		b.kind, b.id = resultBlock, n.at("tool_use_id").stringValue()
	case "image", "document":
		b.kind = mediaBlock
	}
	return b
}

func openAIItem(item *node) []*block {
	b := &block{
		role: "assistant", name: item.at("name").stringValue(), itemID: item.at("id").stringValue(),
		id: item.at("call_id").stringValue(),
	}
	switch item.at("type").stringValue() {
	case "", "message":
		return openAIMessage(item)
	case "reasoning":
		b.kind, b.token, b.tokenKey = thinkingBlock, item.at("encrypted_content").stringValue(), "encrypted_content"
		b.text = item.at("summary", 0, "text").stringValue()
	case "compaction":
		b.kind, b.token, b.tokenKey = hiddenBlock, item.at("encrypted_content").stringValue(), "encrypted_content"
	case "function_call", "custom_tool_call":
		b.kind = callBlock
	case "function_call_output", "custom_tool_call_output":
		b.kind, b.role = resultBlock, "user"
	}
	return []*block{b}
}

func openAIMessage(item *node) []*block {
	role, id := item.at("role").stringValue(), item.at("id").stringValue()
	content := item.at("content")
	if content.isString() {
		return []*block{{kind: textBlock, role: role, text: content.stringValue(), itemID: id, path: []any{"content"}}}
	}
	var out []*block
	for j := range content.countMembers() {
		part := content.at(j)
		b := &block{role: role, itemID: id, pos: j, path: []any{"content", j}}
		switch part.at("type").stringValue() {
		case "input_text", "output_text":
			b.kind, b.text = textBlock, part.at("text").stringValue()
		case "input_image", "input_file":
			b.kind = mediaBlock
		}
		out = append(out, b)
	}
	return out
}

func geminiContent(content *node) []*block {
	role := content.at("role").stringValue()
	switch role {
	case "model":
		role = "assistant"
	case "":
		role = "user"
	}
	parts := content.at("parts")
	var out []*block
	for j := range parts.countMembers() {
		b := geminiPart(parts.at(j))
		b.role, b.pos, b.path = role, j, []any{"parts", j}
		out = append(out, b)
	}
	return out
}

func geminiPart(part *node) *block {
	b := &block{}
	if token, key := part.firstOf("thoughtSignature", "thought_signature"); token != nil {
		b.token, b.tokenKey = token.stringValue(), key
	}
	call, _ := part.firstOf("functionCall", "function_call")
	result, _ := part.firstOf("functionResponse", "function_response")
	media, _ := part.firstOf("inlineData", "inline_data", "fileData", "file_data")
	text := part.at("text")
	switch {
	case call != nil:
		b.kind, b.name, b.id = callBlock, call.at("name").stringValue(), call.at("id").stringValue()
	case result != nil:
		b.kind, b.name, b.id = resultBlock, result.at("name").stringValue(), result.at("id").stringValue()
	case media != nil:
		b.kind = mediaBlock
	case text != nil && part.at("thought").isTrue():
		b.kind, b.text = thinkingBlock, text.stringValue()
	case text != nil:
		b.kind, b.text = textBlock, text.stringValue()
	}
	return b
}

// openTurn returns the ordinal of the last turn in which the user said something
// new, that is, more than results of calls; -1 when there is none.
func openTurn(blocks []*block) int {
	last := -1
	for _, b := range blocks {
		if b.role == "user" && b.kind != resultBlock {
			last = b.turn
		}
	}
	return last
}
