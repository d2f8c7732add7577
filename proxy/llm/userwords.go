package llm

import (
	"maps"
	"slices"
)

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
