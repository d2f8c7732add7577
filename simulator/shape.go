package simulator

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

// words are what a provider says of requests that reach no model. Only OpenAI's
// and those of status 413 have been seen; the others are inferred.
type words struct {
	notFound, notAllowed func(method, path string) rule.Refusal
	tooLarge, upgrade    rule.Refusal
	coding               rule.Refusal // of a body that cannot be unpacked
}

// noWebSocket refuses a WebSocket: the simulator speaks HTTP only. Clients that
// offer both go on by HTTP at once after status 426.
const noWebSocket = "WebSocket connections are not supported here. Use HTTP."

// unknownCoding refuses a body that cannot be unpacked.
const unknownCoding = "The Content-Encoding of the request is not supported. Use gzip, deflate, br or zstd, or none."

func sameRefusal(r rule.Refusal) func(string, string) rule.Refusal {
	return func(string, string) rule.Refusal { return r }
}

var routeErrors = map[string]words{
	"anthropic": {
		notFound:   sameRefusal(rule.Refusal{Status: 404, Type: "not_found_error", Message: "Not Found"}),
		notAllowed: sameRefusal(rule.Refusal{Status: 405, Type: "invalid_request_error", Message: "Method Not Allowed"}),
		tooLarge:   rule.Refusal{Status: 413, Type: "request_too_large", Message: "Request exceeds the maximum size"},
		upgrade:    rule.Refusal{Status: 426, Type: "invalid_request_error", Message: noWebSocket},
		coding:     rule.Refusal{Status: 415, Type: "invalid_request_error", Message: unknownCoding},
	},
	"openai": {
		notFound: func(method, path string) rule.Refusal {
			return rule.Refusal{Status: 404, Type: "invalid_request_error", Message: fmt.Sprintf("Invalid URL (%s %s)", method, path)}
		},
		notAllowed: func(method, path string) rule.Refusal {
			return rule.Refusal{Status: 405, Type: "invalid_request_error", Code: "method_not_supported",
				Message: fmt.Sprintf("Not allowed to %s on %s. (HINT: Perhaps you meant to use a different HTTP method?)", method, path)}
		},
		tooLarge: rule.Refusal{Status: 413, Type: "invalid_request_error", Code: "request_too_large", Message: "Request body is too large."},
		upgrade:  rule.Refusal{Status: 426, Type: "invalid_request_error", Code: "websocket_not_supported", Message: noWebSocket},
		coding:   rule.Refusal{Status: 415, Type: "invalid_request_error", Code: "unsupported_content_encoding", Message: unknownCoding},
	},
	"gemini": {
		notFound:   sameRefusal(rule.Refusal{Status: 404, Type: "NOT_FOUND", Message: "Requested entity was not found."}),
		notAllowed: sameRefusal(rule.Refusal{Status: 405, Type: "INVALID_ARGUMENT", Message: "Request method is not allowed for this resource."}),
		tooLarge: rule.Refusal{Status: 413, Type: "INVALID_ARGUMENT",
			Message: fmt.Sprintf("Request payload size exceeds the limit: %d bytes.", maxRequest)},
		upgrade: rule.Refusal{Status: 426, Type: "FAILED_PRECONDITION", Message: noWebSocket},
		coding:  rule.Refusal{Status: 415, Type: "INVALID_ARGUMENT", Message: unknownCoding},
	},
}

// routeRefusal refuses a request for something that does not exist; nil when it
// does.
func routeRefusal(r *http.Request, to route) *rule.Refusal {
	var refusal rule.Refusal
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		refusal = routeErrors[to.provider].upgrade
	case to.op == opUnknown:
		refusal = routeErrors[to.provider].notFound(r.Method, to.path)
	case !to.allowsMethod(r.Method):
		refusal = routeErrors[to.provider].notAllowed(r.Method, to.path)
	default:
		return nil
	}
	return &refusal
}

// allowHeader is the Allow header of status 405.
func (r route) allowHeader() string { return strings.Join(methods[r.op], ", ") }
