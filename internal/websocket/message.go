package websocket

import (
	"encoding/json"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// MaxMessage is the length of the longest message in either direction, in bytes. A
// longer one ends the connection with status 1009.
const MaxMessage = 64 << 20

// IsUpgrade reports whether r is the handshake of a WebSocket over HTTP/1.1.
func IsUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// createType is the type of the message that asks for a reply.
const createType = "response.create"

// terminalTypes are the types of the events that end a reply.
var terminalTypes = map[string]bool{"response.completed": true, "response.failed": true, "response.incomplete": true,
	"error": true}

// envelope is the part of a message that says what it is. All but Type are for errors.
type envelope struct {
	Type       string          `json:"type"`
	Status     int             `json:"status"`
	StatusCode int             `json:"status_code"` // as some servers spell it
	Error      json.RawMessage `json:"error"`
	Headers    map[string]any  `json:"headers"` // those that the error would have over HTTP
}

// envelopeOf reads a message. The envelope of one that is not a JSON object is empty.
func envelopeOf(message []byte) (e envelope) {
	if json.Unmarshal(message, &e) != nil {
		return envelope{}
	}
	return e
}

// errorStatus returns the HTTP status that an error message names, 0 for none.
func (e envelope) errorStatus() int {
	status := e.Status
	if status == 0 {
		status = e.StatusCode
	}
	if e.Type != "error" || status < 400 || status > 599 {
		return 0
	}
	return status
}

// namedHeader returns the headers that an error message names.
func (e envelope) namedHeader() http.Header {
	h := http.Header{}
	for name, value := range e.Headers {
		if text, ok := value.(string); ok && httpguts.ValidHeaderFieldName(name) &&
			httpguts.ValidHeaderFieldValue(text) {
			h.Set(name, text)
		}
	}
	return dropHandshake(h)
}

// dropHandshake returns h without the headers of the handshake, which do not concern the
// messages.
func dropHandshake(h http.Header) http.Header {
	h = h.Clone()
	for name := range h {
		if strings.HasPrefix(name, "Sec-Websocket-") {
			delete(h, name)
		}
	}
	for _, name := range []string{"Connection", "Upgrade", "Content-Length", "Transfer-Encoding", "Keep-Alive"} {
		h.Del(name)
	}
	return h
}
