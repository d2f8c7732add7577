package openai

import (
	"fmt"

	"github.com/meerkat-go/conformance/simulator/script"
)

const (
	serverError = "The server had an error while processing your request. Sorry about that!"
	overloaded  = "The model is currently overloaded. Please try again later."
)

// Refuse returns the error envelope (reference §4).
func (Provider) Refuse(r *script.Refusal) (int, string, []byte) {
	status, kind, text := 400, "invalid_request_error", r.Message
	var param, code any
	switch r.Kind {
	case script.RefuseAuth:
		status, code = 401, "invalid_api_key"
	case script.RefuseModel:
		param, code, text = "model", "model_not_found", fmt.Sprintf("The requested model '%s' does not exist.", r.Message)
	case script.RefuseOverloaded:
		status, kind, code, text = 503, "server_error", "server_is_overloaded", overloaded
	case script.RefuseServer:
		status, kind, code, text = 500, "server_error", "server_error", serverError
	}
	fault := script.Object{"message", text, "type", kind, "param", param, "code", code}
	return status, "application/json", script.JSON(script.Object{"error", fault})
}

// Failure is an error event with the fault nested, then response.failed
// (reference §3.2).
func (Provider) Failure(r script.Reply, sent int, kind string) [][]byte {
	code, text := "server_error", serverError
	if kind == script.RefuseOverloaded {
		code, text = "server_is_overloaded", overloaded
	}
	s := &stream{signedReply: newSignedReply(r), sequence: sent, failure: script.Object{"code", code, "message", text}}
	fault := script.Object{"type", "error", "sequence_number", s.sequence,
		"error", script.Object{"type", "server_error", "code", code, "message", text, "param", nil}}
	s.sequence++
	s.frames = append(s.frames, fmt.Appendf(nil, "event: error\ndata: %s\n\n", script.JSON(fault)))
	s.addLifecycle("failed", "failed", script.Array{}, nil)
	return s.frames
}
