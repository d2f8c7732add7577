package llm

import "bytes"

// ErrorEvent returns the event by which the provider says within a stream, so
// after status 200, that the reply failed as one of that status would have
// (reference §4): its event name, "" for none, and its data. An unknown
// provider's is the plainest of them.
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

// Ping returns what keeps a quiet event stream alive, its blank line included:
// Anthropic has an event for it, which may stand anywhere (reference §3.1); the
// others get the comment that the standard recommends. newline ends the lines.
func Ping(provider, newline string) []byte {
	if provider == Anthropic {
		return []byte("event: ping" + newline + `data: {"type": "ping"}` + newline + newline)
	}
	return []byte(": ping" + newline + newline)
}
