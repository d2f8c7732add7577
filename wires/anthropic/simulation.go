package anthropic

import (
	"net/url"
	"regexp"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know of the Messages API.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: accepted,
		ListModels: listModels, ShowModel: Model, Holds: holdsKind,
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(`^/v1/messages$`), Operation: script.Generate},
			{Path: regexp.MustCompile(`^/v1/messages/count_tokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(`^/v1/models$`), Operation: script.Models},
			{Path: regexp.MustCompile(`^/v1/models/(.+)$`), Operation: script.Model},
		},
		UnknownEvent: "event: future_event\ndata: {\"type\":\"future_event\",\"note\":\"new\"}\n\n",
		// Only the words of the status 413 have been seen among those of requests that reach no model.
		Refusals: map[string]rule.Refusal{
			"not_found":   {Status: 404, Type: "not_found_error", Message: "Not Found"},
			"wrong_key":   {Status: 401, Type: "authentication_error", Message: "invalid x-api-key"},
			"not_allowed": {Status: 405, Type: "invalid_request_error", Message: "Method Not Allowed"},
			"too_large":   {Status: 413, Type: "request_too_large", Message: "Request exceeds the maximum size"},
			"upgrade":     {Status: 426, Type: "invalid_request_error", Message: script.NoWebSocket},
			"coding":      {Status: 415, Type: "invalid_request_error", Message: script.UnknownCoding},
			"no_model":    {Status: 404, Type: "not_found_error", Message: "model: {id}"},
			"rate_limit": {Status: 429, Type: "rate_limit_error",
				Message: "This request would exceed your organization's rate limit. Please reduce the prompt length or the maximum tokens requested, or try again later."},
			"quota": {Status: 429, Type: "rate_limit_error",
				Message: "You have reached your specified API usage limits."},
			"overloaded": {Status: 529, Type: "overloaded_error", Message: "Overloaded"},
			"server":     {Status: 500, Type: "api_error", Message: "Internal server error"},
			"timeout":    {Status: 504, Type: "timeout_error", Message: "Request timed out"},
			"context": {Status: 400, Type: "invalid_request_error",
				Message: "prompt is too long: 210000 tokens > 200000 maximum"},
			"image": {Status: 400, Type: "invalid_request_error",
				Message: "Could not process image"},
			"token": {Status: 400, Type: "invalid_request_error",
				Message: "messages.1.content.0: Invalid `signature` in `thinking` block"},
			"tool": {Status: 400, Type: "invalid_request_error",
				Message: "tools.{index}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12)."},
			"effort": {Status: 400, Type: "invalid_request_error",
				Message: "This model does not support effort level 'max'. Supported levels: high, low, medium."},
		},
	}
}

// holdsKind reports whether a block of a request is an image or has a token, or whether the settings ask for the
// effort that a scenario refuses.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Get("type").Text() == "image"
	case "token":
		return n.Any("signature", "encrypted_content").Text() != "" || n.Get("type").Text() == "redacted_thinking"
	}
	return n.Get("effort").Text() == "max"
}

func listModels(q url.Values) []byte {
	limit, _ := strconv.Atoi(q.Get("limit")) // none: the usual
	return Models(limit, q.Get("after_id"), q.Get("before_id"))
}
