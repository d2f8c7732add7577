package llm

import (
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/wires"
)

// Part is the purpose of a top-level member of a provider's request body.
type Part string

// The parts of a request body. Any other member is a Setting.
const (
	Conversation Part = "conversation" // who said what
	Prompt       Part = "prompt"       // the system prompt
	Tools        Part = "tools"        // definitions of tools, and servers of tools
	Envelope     Part = "envelope"     // a whole request body, around the one that the API takes
	Setting      Part = "setting"
)

// PartOf returns the purpose of a top-level member. All wires are asked, so requests to gateways that
// speak their APIs are understood as well.
func PartOf(member string) Part {
	switch words := wires.Words(); {
	case words.Conversation[member]:
		return Conversation
	case words.Prompt[member]:
		return Prompt
	case words.Tools[member]:
		return Tools
	case words.Envelope[member]:
		return Envelope
	}
	return Setting
}

// IsPrompt reports whether a turn with this role carries the system prompt.
func IsPrompt(role string) bool { return wires.Words().PromptRoles[role] }

// IsBlocks reports whether a member of a turn or of a block holds one or more
// blocks: the content of a message or a tool result, the parts of a turn, and the
// call or response in such a part.
func IsBlocks(member string) bool { return wires.Words().Blocks[member] }

// IsID reports whether a member of a turn or of a block is an identifier: of
// that block, or of the one it answers.
func IsID(member string) bool { return wires.Words().IDs[member] }

// IsCacheMark reports whether a member of a turn or of a block only marks how
// much of the prefix is cached.
func IsCacheMark(member string) bool { return wires.Words().CacheMarks[member] }

// isResult reports whether a block of a user's turn is the result of a tool, and
// nothing that the user said.
func isResult(block map[string]any) bool {
	words := wires.Words()
	if kind, _ := block["type"].(string); words.ResultTypes[kind] {
		return true
	}
	for member := range words.ResultMembers {
		if block[member] != nil {
			return true
		}
	}
	return false
}

// IsToken reports whether a member holds a token that only its provider understands:
// a signature, or encrypted or encoded content.
func IsToken(member string) bool { return wires.Words().Tokens[member] }

// LastUserTurn returns the index of the last turn with words of the user, -1 for
// none. A turn that only holds results of tools has none. Turns are decoded JSON.
func LastUserTurn(turns []any) int {
	for i, turn := range slices.Backward(turns) {
		if hasUserWords(turn) {
			return i
		}
	}
	return -1
}

func hasUserWords(v any) bool {
	turn, ok := v.(map[string]any)
	if !ok {
		_, isText := v.(string)
		return isText
	}
	if role, hasRole := turn["role"]; hasRole && role != "user" || !hasRole && turn["type"] != nil {
		return false
	}
	for name, content := range turn {
		blocks, isList := content.([]any)
		if IsBlocks(name) && (!isList || slices.ContainsFunc(blocks, IsWords)) {
			return true
		}
	}
	return false
}

// IsWords reports whether a block of a user's turn is the user's own: anything
// but the result of a tool.
func IsWords(v any) bool {
	block, ok := v.(map[string]any)
	return !ok || !isResult(block)
}

// LastUserWords returns the texts of the user's last turn in a decoded request body, in
// their order.
func LastUserWords(body any) (words []string) {
	object, _ := body.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch PartOf(name) {
		case Envelope:
			words = append(words, LastUserWords(object[name])...)
		case Conversation:
			turns, isList := object[name].([]any)
			if last := LastUserTurn(turns); last >= 0 {
				words = append(words, textsOf(turns[last])...)
			} else if !isList {
				words = append(words, textsOf(object[name])...)
			}
		default: // is not said
		}
	}
	return words
}

// textsOf returns the texts of a turn, of a list of blocks or of a block.
func textsOf(v any) (texts []string) {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		for _, block := range x {
			if IsWords(block) {
				texts = append(texts, textsOf(block)...)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if IsBlocks(name) || name == "text" {
				texts = append(texts, textsOf(x[name])...)
			}
		}
	}
	return texts
}
