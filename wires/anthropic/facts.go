package anthropic

import (
	_ "embed" // for facts.yaml

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
)

//go:embed facts.yaml
var factFile []byte

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of the Messages API.
func Wire() *wires.Wire {
	w := wires.Read("anthropic", factFile)
	w.Clouds, w.Events = []wires.Cloud{wires.Vertex("anthropic")}, messageEvents
	w.Errors.Body = errorBody
	w.Errors.Event = func(status int, message string) (string, []byte) { return "error", errorBody(status, message) }
	return w
}

func errorBody(status int, message string) []byte {
	return wires.JSON(map[string]any{"type": "error",
		"error": map[string]any{"type": errorType(status), "message": message}})
}

// errorType returns the type of the errors that have a status.
func errorType(status int) string {
	named := map[int]string{
		401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 409: "conflict_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}
	return wires.NameOfStatus(named, status, "invalid_request_error", "api_error")
}
