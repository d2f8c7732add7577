package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// Level is how much an incoming request must have in common with a recorded one
// to get its answer. Requests that are equal at one level are equal at every
// later one. So the first level with an answer is the strictest that has one,
// and there is one order in which to try them.
type Level int

// The levels, strictest first.
const (
	// Exact: method, URL and body are equal, but for how JSON is spelled and
	// for the fields of the cassette's volatility rules. Headers, credentials
	// and the boundary of a multipart body never count.
	Exact Level = iota
	// Anchored: the conversation is equal, and so are all settings. Left out
	// are the system prompt (system, instructions, systemInstruction, and the
	// system and developer turns that a conversation begins with), the
	// definitions of tools, the marks of prompt caching, and how ids are
	// spelled: each counts as the first, second, … id of the conversation, so
	// that an answer still belongs to its call. An edited prompt or tool
	// description does not matter; a word of a user, a model or a tool does.
	Anchored
	// Shape: the conversation has the same turns: roles, kinds of blocks, names
	// of the tools called, which result answers which call, and how many of
	// each. Model, streaming and the last words of the user are equal: another
	// question never gets this answer. Left out further are all other settings
	// and what else was said, arguments and results of tools included. A body
	// without a conversation is compared as for Anchored.
	Shape
	// Nth: only method, URL, model and streaming are equal. The n-th such
	// request gets the n-th answer, whatever it asks.
	Nth

	levels = iota

	// identical: byte for byte. It counts as Exact, and needs neither redaction nor
	// canonical JSON. Of several equal requests the identical one is preferred.
	identical Level = -1
)

// LevelNames are the names of the levels, the strictest first.
var LevelNames = []string{"exact", "anchored", "shape", "nth"}

// String is the level's name.
func (l Level) String() string {
	if l < 0 || l >= levels {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return LevelNames[l]
}

// ParseLevel reads a level's name.
func ParseLevel(name string) (Level, error) {
	for l, n := range LevelNames {
		if n == name {
			return Level(l), nil
		}
	}
	return 0, fmt.Errorf(
		"%q is not a level of matching; use %s%s", name, strings.Join(LevelNames, ", "),
		spelling.Hint(name, LevelNames))
}

// reduceTo reduces a form, already without volatile fields, to what counts at a
// level. Each level is made from the one before, which is why they are ordered.
func (f form) reduceTo(l Level) form {
	if l == Exact || !f.json {
		if l == Nth {
			f.body = nil
		}
		return f
	}
	body, err := decodeJSON(f.body)
	if err != nil {
		return f // canonical JSON always decodes
	}
	body = anchorBody(body)
	if l >= Shape {
		body = shapeOf(body)
	}
	if l == Nth {
		body = addressOf(body)
	}
	f.body = []byte(encodeJSON(body))
	return f
}

// addressOf returns what counts of a shape at Nth: the model and whether the reply is streamed.
func addressOf(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for name, v := range object {
		switch {
		case name == "model" || name == "stream":
			out[name] = v
		case llm.PartOf(name) == llm.Envelope:
			out[name] = addressOf(v)
		}
	}
	return out
}

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
