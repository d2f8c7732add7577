package script

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/wires/rule"
)

// rejecter is a Provider that gives refusals in its provider's envelope.
type rejecter interface {
	Reject(*rule.Refusal) (status int, header http.Header, body []byte)
}

// Attempts counts how often the same request came for a turn that turns it down
// at first. The zero value has seen nothing; it is safe for concurrent use.
type Attempts struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]int
}

// countAttempt returns how often req was asked for before. Nil has no memory: every
// request is the first.
func (a *Attempts) countAttempt(req Request, ordinal int) int {
	if a == nil {
		return 0
	}
	of := binary.BigEndian.AppendUint64([]byte(req.Provider), uint64(ordinal))
	key := sha256.Sum256(append(of, req.Body...))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[[sha256.Size]byte]int{}
	}
	a.seen[key]++
	return a.seen[key] - 1
}

// retryAfter is how long a client that is turned down is to wait.
const retryAfter = time.Second

// rejections are the providers' words for each kind (reference §4, rules A-45, O-27, G-29, G-30).
var rejections = map[string]map[string]rule.Refusal{
	"anthropic": {
		"rate_limit": {Status: 429, Type: "rate_limit_error", Message: "This request would exceed your organization's rate limit. Please reduce the prompt length or the maximum tokens requested, or try again later."},
		"quota":      {Status: 429, Type: "rate_limit_error", Message: "You have reached your specified API usage limits."},
		"overloaded": {Status: 529, Type: "overloaded_error", Message: "Overloaded"},
		"server":     {Status: 500, Type: "api_error", Message: "Internal server error"},
		"timeout":    {Status: 504, Type: "timeout_error", Message: "Request timed out"},
		"context":    {Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"},
	},
	"openai": {
		"rate_limit": {Status: 429, Type: "requests", Code: "rate_limit_exceeded", Message: "Rate limit reached. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more."},
		"quota":      {Status: 429, Type: "insufficient_quota", Code: "insufficient_quota", Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."},
		"overloaded": {Status: 503, Type: "server_error", Message: "The server is currently overloaded with other requests. Sorry about that! You can retry your request, or contact us through our help center at help.openai.com if the error persists."},
		"server":     {Status: 500, Type: "server_error", Message: "The server had an error while processing your request. Sorry about that!"},
		"timeout":    {Status: 504, Type: "server_error", Message: "Gateway timeout"},
		"context":    {Status: 400, Type: "invalid_request_error", Code: "context_length_exceeded", Param: "input", Message: "Your input exceeds the context window of this model. Please adjust your input and try again."},
	},
	"gemini": {
		"rate_limit": {Status: 429, Type: "RESOURCE_EXHAUSTED", Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."},
		"quota":      {Status: 429, Type: "RESOURCE_EXHAUSTED", Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."},
		"overloaded": {Status: 503, Type: "UNAVAILABLE", Message: "The model is overloaded. Please try again later."},
		"server":     {Status: 500, Type: "INTERNAL", Message: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
		"timeout":    {Status: 504, Type: "DEADLINE_EXCEEDED", Message: "Deadline expired before operation could complete."},
		"context":    {Status: 400, Type: "INVALID_ARGUMENT", Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
	},
}

// rejectionPlan plans the status that a turn turns its request down with; false when
// the request came often enough.
func rejectionPlan(v Provider, r Reply) (Plan, bool) {
	to := r.Turn.Refuse
	provider, ok := v.(rejecter)
	if to == nil || !ok {
		return Plan{}, false
	}
	refusal, refuses := rejections[r.Request.Provider][to.Kind], r.Attempt < to.Times || to.Holds != ""
	if to.IsAboutContent() && to.Holds == "" {
		refusal, refuses = contentRefusal(r.Request, to.Kind)
	}
	if !refuses {
		return Plan{}, false
	}
	if r.Request.Provider == "gemini" {
		refusal.Details, refusal.Message = geminiRetry(to.Retry, refusal)
		refusal.Listed = r.Request.Form == FormArray
	}
	status, header, body := provider.Reject(&refusal)
	if r.Request.Provider != "gemini" {
		setRetry(header, to.Retry, r.At)
	}
	return Plan{Status: status, Header: header, Writes: [][]byte{body}, Injected: true}, true
}

// setRetry sets the header that says when to come back, in one of its forms.
func setRetry(h http.Header, form string, now time.Time) {
	switch form {
	case "seconds":
		h.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	case "date":
		h.Set("Retry-After", now.Add(retryAfter).UTC().Format(http.TimeFormat))
	case "milliseconds":
		h.Set("Retry-After-Ms", strconv.Itoa(int(retryAfter.Milliseconds())))
	}
}

// geminiRetry is Gemini's only form: a detail, and the end of the message.
func geminiRetry(form string, r rule.Refusal) ([]byte, string) {
	if form == "" {
		return nil, r.Message
	}
	delay := fmt.Sprintf("%gs", retryAfter.Seconds())
	return JSON(Array{
		Object{"@type", "type.googleapis.com/google.rpc.Help", "links", Array{
			Object{"description", "Learn more about Gemini API quotas", "url", "https://ai.google.dev/gemini-api/docs/rate-limits"},
		}},
		Object{"@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", delay},
	}), r.Message + "\nPlease retry in " + delay + "."
}
