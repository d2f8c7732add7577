package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// anchorBody removes the prompt and the tools from a decoded request body and
// numbers the ids of its conversation. It changes the body in place.
func anchorBody(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	for name, v := range object {
		switch llm.PartOf(name) {
		case llm.Prompt, llm.Tools:
			delete(object, name)
		case llm.Envelope:
			object[name] = anchorBody(v)
		case llm.Conversation:
			object[name] = idNumbers{}.numberBlocks(withoutPrompt(v))
		case llm.Setting:
			if llm.IsCacheMark(name) {
				delete(object, name)
			}
		}
	}
	return object
}

// withoutPrompt returns a conversation without the system prompt at its
// beginning.
func withoutPrompt(conversation any) any {
	turns, ok := conversation.([]any)
	for ok && len(turns) > 0 {
		turn, _ := turns[0].(map[string]any)
		if role, _ := turn["role"].(string); !llm.IsPrompt(role) {
			return turns
		}
		turns = turns[1:]
	}
	return conversation
}

// idNumbers holds the number of each id, in the order in which they occur.
type idNumbers map[string]string

func (ids idNumbers) numberBlocks(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = ids.numberBlocks(x[i])
		}
	case map[string]any:
		// In a fixed order: an id stands beside others only in blocks that
		// have one of their own and one of their call.
		for _, name := range slices.Sorted(maps.Keys(x)) {
			ids.numberMember(x, name)
		}
	}
	return v
}

func (ids idNumbers) numberMember(block map[string]any, name string) {
	id, isText := block[name].(string)
	switch {
	case llm.IsCacheMark(name):
		delete(block, name)
	case llm.IsID(name) && isText:
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("#%d", len(ids))
		}
		block[name] = ids[id]
	case llm.IsBlocks(name):
		block[name] = ids.numberBlocks(block[name])
	}
}

// shapeOf returns an anchored body without what was said, except for the last words
// of the user. A body without a conversation is returned as it is, because it is unknown which
// of its members are words.
func shapeOf(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	out, hasConversation := map[string]any{}, false
	for name, v := range object {
		switch part := llm.PartOf(name); {
		case part == llm.Conversation:
			out[name], hasConversation = conversationOutline(v), true
		case part == llm.Envelope:
			out[name], hasConversation = shapeOf(v), true
		case name == "model" || name == "stream" || name == wordsMember:
			out[name] = v
		}
	}
	if !hasConversation {
		return body
	}
	return out
}

// conversationOutline returns the outline of each turn, and the user's last words
// as they are. A conversation that is not a list is one message of the user.
func conversationOutline(v any) any {
	turns, ok := v.([]any)
	if !ok {
		return v
	}
	out, last := make([]any, len(turns)), llm.LastUserTurn(turns)
	for i, turn := range turns {
		out[i] = outlineOf(turn, i == last)
	}
	return out
}

// outlineOf returns the outline of a turn or of a block: roles, types, names and
// ids keep their values, everything else only its place. keep says that the user's
// words in it are kept, too.
func outlineOf(v any, keep bool) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			if keep && llm.IsWords(x[i]) {
				out[i] = x[i]
			} else {
				out[i] = outlineOf(x[i], false)
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, v := range x {
			switch {
			case name == "role" || name == "type" || name == "name" || llm.IsID(name):
				out[name] = v
			case llm.IsBlocks(name):
				out[name] = outlineOf(v, keep)
			default:
				out[name] = emptyOfKind(v)
			}
		}
		return out
	case string:
		if keep {
			return x
		}
	}
	return emptyOfKind(v)
}

// emptyOfKind returns an empty value of the same kind. Booleans are kept: they
// say what a block is, as is_error does.
func emptyOfKind(v any) any {
	switch v.(type) {
	case bool, nil:
		return v
	case string:
		return ""
	case []any:
		return []any{}
	case map[string]any:
		return map[string]any{}
	}
	return 0
}
