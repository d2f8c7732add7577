package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/wires"
)

// IsComplete reports whether a reply body is all that the provider meant to send:
// a stream that reached the provider's terminal event, or one whole JSON
// document. Otherwise the connection ended too early. A body of a type that no
// provider sends counts as complete, because nothing in it shows where it ends.
// The stream of an unknown provider may end as any provider's does.
func IsComplete(provider, contentType string, body []byte) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case slices.Contains(jsonLines, media):
		for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
			var one json.RawMessage
			if err := decoder.Decode(&one); err != nil {
				return errors.Is(err, io.EOF)
			}
		}
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		// Errors come as plain JSON even under text/event-stream, and Gemini
		// streams a JSON array when no client asks for SSE.
		return isWholeDocument(provider, body)
	case media == eventStream:
		return anyWire(provider, func(w *wires.Wire) bool {
			return hasEventOfType(body, w.Ending.Types) ||
				w.Ending.IsWhole != nil && w.Ending.IsWhole(body, completeEvents(body))
		})
	}
	return media != "application/json"
}

// jsonLines are the content types of one JSON document a line, such as the
// results of a batch. They have no terminal event and may end after any line.
var jsonLines = []string{"application/x-ndjson", "application/ndjson", "application/x-jsonl", "application/jsonl",
	"application/x-jsonlines"}

// isWholeDocument reports whether a JSON document is whole. An array may be a stream.
func isWholeDocument(provider string, body []byte) bool {
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return false
	}
	w := wires.Find(provider)
	return w == nil || w.Ending.IsWholeArray == nil || w.Ending.IsWholeArray(body)
}

// anyWire reports whether something holds for a provider's wire: for an unknown provider, for any wire.
func anyWire(provider string, holds func(*wires.Wire) bool) bool {
	if w := wires.Find(provider); w != nil {
		return holds(w)
	}
	return slices.ContainsFunc(wires.All(), holds)
}

// IsTerminalEvent reports whether an event with this data ends a stream of its
// provider. More may follow where [MayGoOn] says so. The stream of an unknown
// provider may end as any provider's does.
func IsTerminalEvent(provider string, data []byte) bool {
	return anyWire(provider, func(w *wires.Wire) bool {
		if w.Ending.IsLast != nil {
			return w.Ending.IsLast(data)
		}
		return slices.ContainsFunc(w.Ending.Types, func(t string) bool { return isType(data, t) })
	})
}

// MayGoOn reports whether a stream of the provider may go on after an event that ends it.
func MayGoOn(provider string) bool {
	w := wires.Find(provider)
	return w != nil && w.Ending.MayGoOn
}

func isType(data []byte, t string) bool {
	return bytes.Contains(data, []byte(t)) && typeOf(data) == t
}

// hasEventOfType reports whether an event of one of the types occurs. It need
// not be the last: gateways add a [DONE], and OpenAI sends response.failed after
// error.
func hasEventOfType(body []byte, types []string) bool {
	for data := range completeEvents(body) {
		for _, t := range types {
			if isType(data, t) {
				return true
			}
		}
	}
	return false
}

func typeOf(data []byte) string {
	var event struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &event) // what is not JSON has no type
	return event.Type
}
