package provider

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The rows are reference §4, with the texts of §5 where the kind hangs on them.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		status              int
		typ, code, msg      string
		want                Kind
		provider            string
		retryAfter, retries bool
	}{
		{400, "invalid_request_error", "", "max_tokens: Field required", InvalidRequest, "anthropic", false, false},
		{401, "authentication_error", "", "invalid x-api-key", Authentication, "anthropic", false, false},
		{402, "billing_error", "", "", InvalidRequest, "anthropic", false, false},
		{403, "permission_error", "", "", Authentication, "anthropic", false, false},
		{404, "not_found_error", "", "model: claude-sonet-4-5", ModelNotFound, "anthropic", false, false},
		{409, "conflict_error", "", "", InvalidRequest, "anthropic", false, true},
		{413, "request_too_large", "", "Request exceeds the maximum size", ContextTooLong, "anthropic", false, false},
		{429, "rate_limit_error", "", "", RateLimited, "anthropic", true, true},
		{429, "rate_limit_error", "", "a gateway dropped retry-after", RateLimited, "anthropic", false, true},
		{429, "rate_limit_error", "enforced_spend_limit_reached", "", RateLimited, "anthropic", false, false},
		{500, "api_error", "", "", ServerError, "anthropic", false, true},
		{504, "timeout_error", "", "", Timeout, "anthropic", false, true},
		{529, "overloaded_error", "", "Overloaded", Overloaded, "anthropic", false, true},
		{200, "overloaded_error", "", "Overloaded", Overloaded, "anthropic", false, true},
		{
			400, "invalid_request_error", "", "prompt is too long: 3333404 tokens > 200000 maximum", ContextTooLong,
			"anthropic", false, false,
		},
		{
			400, "invalid_request_error", "", "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
			ContextTooLong, "anthropic", false, false,
		},

		{401, "invalid_request_error", "invalid_api_key", "Incorrect API key", Authentication, "openai", false, false},
		{
			400, "invalid_request_error", "model_not_found", "The requested model 'X' does not exist.", ModelNotFound,
			"openai", false, false,
		},
		{400, "invalid_request_error", "context_length_exceeded", "", ContextTooLong, "openai", false, false},
		{404, "invalid_request_error", "", "Item with id 'rs_X' not found.", InvalidRequest, "openai", false, false},
		{429, "tokens", "rate_limit_exceeded", "", RateLimited, "openai", false, true},
		{429, "requests", "", "", RateLimited, "openai", false, true},
		{429, "insufficient_quota", "insufficient_quota", "", RateLimited, "openai", true, false},
		{429, "insufficient_quota", "credit_balance_exhausted", "", RateLimited, "openai", false, false},
		{500, "server_error", "", "", ServerError, "openai", false, true},
		{408, "", "", "", Timeout, "openai", false, true},
		{422, "", "", "", InvalidRequest, "openai", false, false},
		{200, "", "content_filter", "", ContentFiltered, "openai", false, false},

		{400, "INVALID_ARGUMENT", "", "", InvalidRequest, "gemini", false, false},
		{400, "INVALID_ARGUMENT", "API_KEY_INVALID", "API key not valid.", Authentication, "gemini", false, false},
		{
			400, "INVALID_ARGUMENT", "", "The input token count (1200000) exceeds the maximum", ContextTooLong,
			"gemini", false, false,
		},
		{403, "PERMISSION_DENIED", "", "", Authentication, "gemini", false, false},
		{404, "NOT_FOUND", "", "models/X is not found for API version v1beta", ModelNotFound, "gemini", false, false},
		{409, "", "", "", InvalidRequest, "gemini", false, false},
		{429, "RESOURCE_EXHAUSTED", "", "", RateLimited, "gemini", true, true},
		{503, "UNAVAILABLE", "", "The model is overloaded.", Overloaded, "gemini", false, true},
		{504, "DEADLINE_EXCEEDED", "", "", Timeout, "gemini", false, true},

		{502, "", "", "<html>", ServerError, "openai", false, true},
		{418, "", "", "", InvalidRequest, "openai", false, false},
		{302, "", "", "", Unknown, "openai", false, false},
		{200, "strange_error", "", "", Unknown, "anthropic", false, false},
	} {
		got := classify(c.status, c.typ, c.code, c.msg)
		if got != c.want {
			t.Errorf("%d %s %s %q: %s, want %s", c.status, c.typ, c.code, c.msg, got, c.want)
		}
		e := &Error{Kind: got, Provider: c.provider, Status: c.status, Type: c.typ, Code: c.code, Message: c.msg}
		if c.retryAfter {
			d := time.Second
			e.RetryAfter = &d
		}
		if e.Retryable() != c.retries {
			t.Errorf("%s: retryable %v, want %v", e, e.Retryable(), c.retries)
		}
	}
}

func TestShouldRetryDecides(t *testing.T) {
	yes, no := true, false
	if !(&Error{Kind: InvalidRequest, ShouldRetry: &yes}).Retryable() {
		t.Error("x-should-retry: true was not heard")
	}
	if (&Error{Kind: Overloaded, ShouldRetry: &no}).Retryable() {
		t.Error("x-should-retry: false was not heard")
	}
}

func TestErrorText(t *testing.T) {
	wait := 3 * time.Second
	for _, c := range []struct {
		err  Error
		want string
	}{
		{
			Error{
				Kind: RateLimited, Provider: "openai", Status: 429, Type: "tokens", Code: "rate_limit_exceeded",
				Message: "Rate limit\n\x1b reached", RequestID: "req_1", RetryAfter: &wait,
			},
			"openai: rate_limited (HTTP 429, tokens, rate_limit_exceeded, request req_1): Rate limit reached; retry after 3s",
		},
		{
			Error{
				Kind: Overloaded, Provider: "anthropic", Status: 200, Type: "overloaded_error", Message: "Overloaded",
			},
			"anthropic: overloaded (overloaded_error): Overloaded",
		},
		{Error{Kind: Cancelled, Provider: "gemini", Err: context.Canceled}, "gemini: cancelled: context canceled"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestErrorUnwraps(t *testing.T) {
	var err error = &Error{Kind: Cancelled, Err: context.Canceled}
	if !errors.Is(err, context.Canceled) {
		t.Error("the cause is lost")
	}
}
