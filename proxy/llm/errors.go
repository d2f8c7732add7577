package llm

import (
	"bytes"
	"net/http"

	"github.com/meerkat-go/conformance/wires"
)

// ErrorBody returns a reply body with message, in the shape that the provider's own errors of that
// status have, so that a client's error handling runs as it would against the API. An unknown
// provider gets the simplest shape.
func ErrorBody(provider string, status int, message string) (contentType string, body []byte) {
	if w := wires.Find(provider); w != nil {
		return "application/json", w.Errors.Body(status, message)
	}
	return "application/json", wires.JSON(map[string]any{"error": map[string]any{"message": message}})
}

// ErrorEvent returns the event with which the provider reports an error inside a stream, after status
// 200: its event name, possibly empty, and its data. status is the HTTP status that the error would
// have had. An unknown provider gets the simplest shape.
func ErrorEvent(provider string, status int, message string) (name string, data []byte) {
	if w := wires.Find(provider); w != nil {
		name, data = w.Errors.Event(status, message)
	} else {
		_, data = ErrorBody(provider, status, message)
	}
	return name, bytes.TrimSpace(data)
}

// CommonError returns the status of the error event that the provider sends most often.
func CommonError(provider string) int {
	if w := wires.Find(provider); w != nil && w.Errors.Common != 0 {
		return w.Errors.Common
	}
	return http.StatusInternalServerError
}

// Ping returns what keeps a quiet event stream alive, including its blank line: the provider's own
// event, or the comment that the standard recommends. newline ends the lines.
func Ping(provider, newline string) []byte {
	if w := wires.Find(provider); w != nil && w.Errors.PingName != "" {
		return []byte("event: " + w.Errors.PingName + newline + "data: " + w.Errors.PingData + newline + newline)
	}
	return []byte(": ping" + newline + newline)
}

// SetKey puts a key where its provider expects it. Of an unknown provider it does nothing.
func SetKey(header http.Header, provider, key string) {
	if w := wires.Find(provider); w != nil {
		header.Set(w.Credentials.Header, w.Credentials.Prefix+key)
	}
}
