package llm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// Operation is what a request asks a provider for.
type Operation string

// The operations. Everything else is Other.
const (
	Stream Operation = "stream" // a generated reply in pieces
	Unary  Operation = "unary"  // a generated reply in one piece
	Count  Operation = "count"  // tokens of a would-be request
	Models Operation = "models" // the list of models, or one of them
	Other  Operation = "other"
)

// OperationOf returns what a request asks for: by its route, and where the route leaves that open by
// its body.
func OperationOf(method string, u *url.URL, body []byte) Operation {
	path := strings.TrimSuffix(u.Path, "/")
	if method == http.MethodGet && hasSegment(path, "/models") {
		return Models
	}
	w := wires.Find(Provider(u.Host, path))
	if w == nil {
		return Other
	}
	switch route := w.RouteOf(path); {
	case route == nil:
	case method == http.MethodGet && route.Operation == wires.Stored && u.Query().Get("stream") == "true":
		return Stream // a stored reply is resumed
	case method != http.MethodPost:
	case route.Operation == wires.Generate:
		return generateOperation(body, w.SocketMessage)
	case route.Operation == wires.Stream, route.Operation == wires.Unary, route.Operation == wires.Count:
		return Operation(route.Operation)
	}
	return Other
}

// hasSegment reports whether a path holds the segments of want.
func hasSegment(path, want string) bool {
	_, rest, found := strings.Cut(path, want)
	return found && (rest == "" || rest[0] == '/')
}

// TakesSockets reports whether requests to a path may come over WebSockets as well.
func TakesSockets(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return slices.ContainsFunc(wires.All(), func(w *wires.Wire) bool {
		route := w.RouteOf(path)
		return w.SocketMessage != "" && route != nil && route.Operation == wires.Generate
	})
}

// generateOperation reads a body. A request that came as a message of a WebSocket has the type
// message, and its reply is always a stream.
func generateOperation(body []byte, message string) Operation {
	var request struct {
		Type   string `json:"type"`
		Stream bool   `json:"stream"`
	}
	if json.Unmarshal(body, &request) == nil && (request.Stream || message != "" && request.Type == message) {
		return Stream
	}
	return Unary
}
