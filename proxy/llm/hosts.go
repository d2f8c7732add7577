package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// Host returns the host of a provider's own API, "" for an unknown provider. It is the only
// host that may get the provider's key; for clouds see [CloudHost].
func Host(provider string) string {
	if w := wires.Find(provider); w != nil {
		return w.Host
	}
	return ""
}

// CloudHost returns the host of Vertex, the cloud that serves models of several providers, for a path
// that names a location there.
func CloudHost(path string) string { return wires.VertexHostOf(path) }

// Hosts returns every provider host name: what a proxy may intercept by default.
// The slice belongs to the caller.
func Hosts() (hosts []string) {
	var all []string
	for _, w := range wires.All() {
		all = append(all, w.Host)
	}
	for _, w := range wires.All() {
		all = append(all, w.MoreHosts...)
		for _, cloud := range w.Clouds {
			all = append(all, cloud.Hosts...)
		}
	}
	for _, host := range all {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Provider returns the provider whose API a request speaks, or "". The host,
// with or without a port, decides, and the path among the wires of one host; for a host
// that is not a provider's (a base URL on loopback, a gateway) the path does.
func Provider(host, path string) string {
	name, ofHost := bareHostname(host), ""
	isCloud := false
	for _, w := range wires.All() {
		isOfHost := name == w.Host || slices.Contains(w.MoreHosts, name) || slices.Contains(w.OtherHosts, name)
		if isOfHost && w.Paths.MatchString(path) {
			return w.Name
		}
		if isOfHost {
			ofHost = cmp.Or(ofHost, w.Name)
		}
		for _, cloud := range w.Clouds {
			if slices.Contains(cloud.Hosts, name) {
				isCloud = true
			}
		}
	}
	if ofHost != "" {
		return ofHost
	}
	if owner := byCloudPath(path); owner != "" || isCloud {
		return owner
	}
	for _, w := range wires.All() {
		if w.Paths.MatchString(path) {
			return w.Name
		}
	}
	return ""
}

func bareHostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// byCloudPath returns the provider whose model a path of a cloud names.
func byCloudPath(path string) string {
	for _, w := range wires.All() {
		for _, cloud := range w.Clouds {
			if strings.Contains(path, cloud.Path) {
				return w.Name
			}
		}
	}
	return ""
}

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
		// A request that came as a message of a WebSocket has the type message, and its reply is always a
		// stream.
		var request struct {
			Type   string `json:"type"`
			Stream bool   `json:"stream"`
		}
		if json.Unmarshal(body, &request) == nil &&
			(request.Stream || w.SocketMessage != "" && request.Type == w.SocketMessage) {
			return Stream
		}
		return Unary
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
