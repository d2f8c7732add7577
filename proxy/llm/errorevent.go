package llm

import "bytes"

// ErrorEvent returns the event with which the provider reports an error inside a
// stream, after status 200: its event name, "" for none, and its data. status is
// the HTTP status that the error would have had. An unknown provider gets the
// simplest shape.
func ErrorEvent(provider string, status int, message string) (name string, data []byte) {
	switch provider {
	case Anthropic:
		name = "error"
		_, data = ErrorBody(provider, status, message)
	case OpenAI:
		name = "error"
		kind, code := openAIType(status)
		_, data = encodeError(map[string]any{"type": "error",
			"error": map[string]any{"type": kind, "code": code, "message": message, "param": nil}})
	default:
		_, data = ErrorBody(provider, status, message)
	}
	return name, bytes.TrimSpace(data)
}

// Ping returns what keeps a quiet event stream alive, including its blank line.
// Anthropic has an event for it, which may occur anywhere; the others get the
// comment that the standard recommends. newline ends the lines.
func Ping(provider, newline string) []byte {
	if provider == Anthropic {
		return []byte("event: ping" + newline + `data: {"type": "ping"}` + newline + newline)
	}
	return []byte(": ping" + newline + newline)
}
