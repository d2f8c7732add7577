package provider

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Kind classifies an Error: what went wrong, or cancelled for a
// call whose context was cancelled by its owner.
type Kind string

// The kinds of failure.
const (
	RateLimited     Kind = "rate_limited"
	Overloaded      Kind = "overloaded"
	Timeout         Kind = "timeout"
	ConnectionReset Kind = "connection_reset"
	ServerError     Kind = "server_error"
	InvalidRequest  Kind = "invalid_request"
	Authentication  Kind = "authentication"
	ContentFiltered Kind = "content_filtered"
	ContextTooLong  Kind = "context_length_exceeded"
	ModelNotFound   Kind = "model_not_found"
	StreamParse     Kind = "stream_parse"
	Incomplete      Kind = "incomplete"
	Cancelled       Kind = "cancelled"
	// LimitExceeded is a reply that went beyond one of the Bounds.
	LimitExceeded Kind = "limit_exceeded"
	Unknown       Kind = "unknown"
)

// insufficientQuota is OpenAI's type and code for a spent account (O-31).
const insufficientQuota = "insufficient_quota"

// spentCodes are the types and codes of a 429 that says that money or a limit of
// spending is used up: waiting does not help.
var spentCodes = []string{
	insufficientQuota, "credit_balance_exhausted", "organization_usage_limit_exceeded",
	"organization_spend_limit_exceeded", "project_spend_limit_exceeded",
	"enforced_spend_limit_reached", // Anthropic's
}

// Error is a failed model call, or a request that was refused before it was
// sent. It never holds a credential: the client removes it from the provider's
// words first. It is read-only.
type Error struct {
	Kind     Kind
	Provider string // "anthropic", "openai" or "gemini"
	// Status is the HTTP status; 0 when no answer came, 200 for a failure that
	// was reported inside a stream.
	Status int
	// Type, Code and Message are the provider's own words.
	Type    string
	Code    string
	Message string
	// Param is the place in the request that the provider blames, if it names one. It
	// may be wrong.
	Param string
	// Organization is the customer's, if the answer names one.
	Organization string
	// RequestID is the provider's id of the failed call, if it sent one.
	RequestID string
	// RetryAfter is how long the provider asks to wait; nil when it did not say.
	RetryAfter *time.Duration
	// ShouldRetry is the provider's x-should-retry header; nil without one.
	ShouldRetry *bool
	// RateLimits is what the provider says is left; nil when it did not.
	RateLimits []stream.RateLimit
	// Err is the cause on our side: *catalog.UnsupportedModel, a context error,
	// a *stream.IncompleteError. Nil when the provider's words are all there is.
	Err error
}

// Error names the provider, what failed and what to do about it, in one line.
func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: %s", e.Provider, e.Kind)
	if detail := e.describeDetails(); detail != "" {
		fmt.Fprintf(&s, " (%s)", detail)
	}
	if text := e.messageOrCause(); text != "" {
		fmt.Fprintf(&s, ": %s", text)
	}
	if e.RetryAfter != nil {
		fmt.Fprintf(&s, "; retry after %s", *e.RetryAfter)
	}
	return oneLine(s.String())
}

// oneLine makes a text of others safe to print: no line breaks, no control
// characters.
func oneLine(s string) string {
	visible := func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}
	return strings.Join(strings.Fields(strings.Map(visible, s)), " ")
}

// describeDetails joins status, type, code and request id as far as they are known.
func (e *Error) describeDetails() string {
	var parts []string
	if e.Status != 0 && e.Status != http.StatusOK {
		parts = append(parts, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.Type != "" {
		parts = append(parts, e.Type)
	}
	if e.Code != "" && e.Code != e.Type {
		parts = append(parts, e.Code)
	}
	if e.RequestID != "" {
		parts = append(parts, "request "+e.RequestID)
	}
	return strings.Join(parts, ", ")
}

// messageOrCause is the provider's message, else the cause.
func (e *Error) messageOrCause() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause, so that errors.Is and errors.As see it.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
// The provider's x-should-retry header decides when there is one.
func (e *Error) Retryable() bool {
	switch {
	case e.ShouldRetry != nil:
		return *e.ShouldRetry
	case slices.Contains(spentCodes, e.Code) || slices.Contains(spentCodes, e.Type):
		return false
	case e.Status == http.StatusConflict && !catalog.ProviderNamed(e.Provider).Traits.ConflictIsFinal:
		return true
	}
	switch e.Kind {
	case RateLimited, Overloaded, Timeout, ConnectionReset, ServerError, Incomplete:
		return true
	default:
		return false
	}
}

// kindsByName maps error types, codes and statuses to kinds. No two
// providers use one name for different things.
var kindsByName = map[string]Kind{
	// Anthropic
	"invalid_request_error": InvalidRequest,
	"authentication_error":  Authentication,
	"permission_error":      Authentication,
	"billing_error":         InvalidRequest,
	"not_found_error":       ModelNotFound,
	"conflict_error":        InvalidRequest,
	"request_too_large":     ContextTooLong,
	"rate_limit_error":      RateLimited,
	"api_error":             ServerError,
	"timeout_error":         Timeout,
	"overloaded_error":      Overloaded,
	// OpenAI
	"invalid_api_key":          Authentication,
	"model_not_found":          ModelNotFound,
	"context_length_exceeded":  ContextTooLong,
	"rate_limit_exceeded":      RateLimited,
	insufficientQuota:          RateLimited,
	"server_error":             ServerError,
	"server_is_overloaded":     Overloaded,
	"slow_down":                RateLimited,
	"content_filter":           ContentFiltered,
	"content_policy_violation": ContentFiltered,
	// Gemini
	"INVALID_ARGUMENT":    InvalidRequest,
	"FAILED_PRECONDITION": InvalidRequest,
	"API_KEY_INVALID":     Authentication,
	"UNAUTHENTICATED":     Authentication,
	"PERMISSION_DENIED":   Authentication,
	"NOT_FOUND":           ModelNotFound,
	"RESOURCE_EXHAUSTED":  RateLimited,
	"INTERNAL":            ServerError,
	"UNAVAILABLE":         Overloaded,
	"DEADLINE_EXCEEDED":   Timeout,
}

// contextTooLongPhrases are the words of a full context (A-45, O-27, G-29); the
// status and type of these errors say only that the request is invalid.
var contextTooLongPhrases = []string{
	"prompt is too long:", "exceed context limit:", "exceeds the context window",
	"input token count", "maximum context length",
}

// classify returns the kind of a failure from what the provider said about it:
// the code, else the type, else the HTTP status.
func classify(status int, typ, code, message string) Kind {
	if status == http.StatusBadRequest || status == http.StatusOK {
		for _, words := range contextTooLongPhrases {
			if strings.Contains(message, words) {
				return ContextTooLong
			}
		}
	}
	for _, name := range []string{code, typ} {
		kind, ok := kindsByName[name]
		// A missing stored item is a 404 too (O-14), a missing model is not the cause.
		if ok && kind == ModelNotFound && name != "model_not_found" && !strings.Contains(message, "model") {
			return InvalidRequest
		}
		if ok {
			return kind
		}
	}
	return kindOfStatus(status)
}

// kindOfStatus is for gateways that answer in a shape of their own.
func kindOfStatus(status int) Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Authentication
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return Timeout
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestEntityTooLarge:
		return ContextTooLong
	case status == http.StatusServiceUnavailable, status == 529:
		return Overloaded
	case status >= 500:
		return ServerError
	case status >= 400:
		return InvalidRequest
	default:
		return Unknown
	}
}
