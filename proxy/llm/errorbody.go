package llm

import (
	"bytes"
	"encoding/json"
)

// ErrorBody returns a reply body with message, in the shape that the provider's
// own errors of that status have, so that a client's error handling runs as it
// would against the API. An unknown provider gets the simplest shape.
func ErrorBody(provider string, status int, message string) (contentType string, body []byte) {
	switch provider {
	case Anthropic:
		return encodeError(map[string]any{
			"type":  "error",
			"error": map[string]any{"type": anthropicType(status), "message": message},
		})
	case OpenAI:
		kind, code := openAIType(status)
		return encodeError(map[string]any{
			"error": map[string]any{"message": message, "type": kind, "param": nil, "code": code},
		})
	case Gemini:
		return encodeError(map[string]any{
			"error": map[string]any{"code": status, "message": message, "status": geminiStatus(status)},
		})
	}
	return encodeError(map[string]any{"error": map[string]any{"message": message}})
}

func encodeError(v any) (string, []byte) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings, numbers and maps of them cannot fail
	return "application/json", b.Bytes()
}

func anthropicType(status int) string {
	named := map[int]string{
		401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 409: "conflict_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}
	return typeOrDefault(named[status], status, "invalid_request_error", "api_error")
}

// openAIType returns the error's type and code; the code is nil when OpenAI has
// none.
func openAIType(status int) (string, any) {
	switch status {
	case 401:
		return "invalid_request_error", "invalid_api_key"
	case 429:
		return "requests", "rate_limit_exceeded"
	}
	return typeOrDefault("", status, "invalid_request_error", "server_error"), nil
}

func geminiStatus(status int) string {
	named := map[int]string{
		401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
		429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 501: "UNIMPLEMENTED",
		503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	return typeOrDefault(named[status], status, "INVALID_ARGUMENT", "INTERNAL")
}

// typeOrDefault returns name or, when it is empty, the type for errors of the
// client or of the server.
func typeOrDefault(name string, status int, client, server string) string {
	switch {
	case name != "":
		return name
	case status < 500:
		return client
	}
	return server
}
