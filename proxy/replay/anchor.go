package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// anchored takes the prompt and the tools out of a decoded request body and
// numbers the ids of its conversation. The body is changed in place.
func anchored(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	for name, v := range object {
		switch llm.PartOf(name) {
		case llm.Prompt, llm.Tools:
			delete(object, name)
		case llm.Envelope:
			object[name] = anchored(v)
		case llm.Conversation:
			object[name] = numbered{}.blocks(unprompted(v))
		case llm.Setting:
			if llm.IsCacheMark(name) {
				delete(object, name)
			}
		}
	}
	return object
}

// unprompted is a conversation without the prompt it begins with.
func unprompted(conversation any) any {
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

// numbered knows the number of each id, in the order of their appearance.
type numbered map[string]string

func (ids numbered) blocks(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = ids.blocks(x[i])
		}
	case map[string]any:
		// In a fixed order: an id stands beside others only in blocks that
		// have one of their own and one of their call.
		for _, name := range slices.Sorted(maps.Keys(x)) {
			ids.member(x, name)
		}
	}
	return v
}

func (ids numbered) member(block map[string]any, name string) {
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
		block[name] = ids.blocks(block[name])
	}
}

// shaped is an anchored body without what was said. A body that holds no
// conversation keeps its own outline.
func shaped(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return outline(body)
	}
	out, talks := map[string]any{}, false
	for name, v := range object {
		switch part := llm.PartOf(name); {
		case part == llm.Conversation:
			out[name], talks = turns(v), true
		case part == llm.Envelope:
			out[name], talks = shaped(v), true
		case name == "model" || name == "stream":
			out[name] = v
		}
	}
	if !talks {
		return outline(body)
	}
	return out
}

// turns is the outline of a conversation: what speaks and is called keeps its
// name, everything else only its place.
func turns(v any) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = turns(x[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, v := range x {
			switch {
			case name == "role" || name == "type" || name == "name" || llm.IsID(name):
				out[name] = v
			case llm.IsBlocks(name):
				out[name] = turns(v)
			default:
				out[name] = kind(v)
			}
		}
		return out
	}
	return kind(v)
}

// outline is a JSON value without its texts and numbers.
func outline(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = outline(x[i])
		}
		return x
	case map[string]any:
		for name := range x {
			if name != "model" && name != "stream" {
				x[name] = outline(x[name])
			}
		}
		return x
	}
	return kind(v)
}

// kind is an empty value of the same kind. Truth values say what a block is, as
// is_error does, and are kept.
func kind(v any) any {
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
