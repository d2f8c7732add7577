package openai

import (
	_ "embed" // for facts.yaml
	"encoding/json"
	"iter"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
)

//go:embed facts.yaml
var factFile []byte

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of the Responses API.
func Wire() *wires.Wire {
	w := wires.Read("openai", factFile)
	w.Errors.Body, w.Errors.Event = errorBody, errorEvent
	w.Ending.IsWhole = isFinishedChatStream
	return w
}

func errorBody(status int, message string) []byte {
	kind, code := errorType(status)
	return wires.JSON(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil,
		"code": code}})
}

func errorEvent(status int, message string) (name string, data []byte) {
	kind, code := errorType(status)
	return "error", wires.JSON(map[string]any{"type": "error",
		"error": map[string]any{"type": kind, "code": code, "message": message, "param": nil}})
}

// errorType returns the type and the code of the errors that have a status. The code is nil where
// OpenAI has none.
func errorType(status int) (string, any) {
	switch status {
	case 401:
		return "invalid_request_error", "invalid_api_key"
	case 429:
		return "requests", "rate_limit_exceeded"
	}
	return wires.NameOfStatus(nil, status, "invalid_request_error", "server_error"), nil
}

// isFinishedChatStream reports whether a stream of chat completions, whose chunks have no type,
// reached its [DONE]. A [DONE] after typed events comes from a gateway and proves nothing: gateways
// send it after a cut as well.
func isFinishedChatStream(_ []byte, events iter.Seq[[]byte]) bool {
	chunks, done := 0, false
	for data := range events {
		var event struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(data, &event) // what is not JSON has no type
		switch {
		case done || event.Type != "":
			return false
		case string(data) == "[DONE]":
			done = true
		default:
			chunks++
		}
	}
	return done && chunks > 0
}
