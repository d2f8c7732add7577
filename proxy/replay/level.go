package replay

import (
	"fmt"
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

var levelNames = [levels]string{"exact", "anchored", "shape", "nth"}

// String is the level's name.
func (l Level) String() string {
	if l < 0 || l >= levels {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return levelNames[l]
}

// ParseLevel reads a level's name.
func ParseLevel(name string) (Level, error) {
	for l, n := range levelNames {
		if n == name {
			return Level(l), nil
		}
	}
	return 0, fmt.Errorf("%q is not a level of matching; use %s%s", name, strings.Join(levelNames[:], ", "), spelling.Hint(name, levelNames[:]))
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
