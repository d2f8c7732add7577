package gemini

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// resource begins the paths of the Developer API and of Vertex, which says before the model whose it is.
const resource = `^/v1[^/]*/(?:.*?publishers/google/)?models`

// Simulation is what the simulator has to know of generateContent.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: accepted,
		ListModels: listModels, ShowModel: Model, Holds: holdsKind, Retry: tellRetry,
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(resource + `/([^/:]+):(?:generateContent|streamGenerateContent)$`), Operation: script.Generate},
			{Path: regexp.MustCompile(resource + `/([^/:]+):countTokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(resource + `$`), Operation: script.Models},
			{Path: regexp.MustCompile(resource + `/([^:]+)$`), Operation: script.Model},
		},
		UnknownEvent: "data: {\"futureUpdate\": {\"note\": \"new\"}}\r\n\r\n",
		Refusals: map[string]rule.Refusal{
			"not_found": {Status: 404, Type: "NOT_FOUND", Message: "Requested entity was not found."},
			"wrong_key": {Status: 400, Type: "INVALID_ARGUMENT",
				Message: "API key not valid. Please pass a valid API key."},
			"not_allowed": {Status: 405, Type: "INVALID_ARGUMENT",
				Message: "Request method is not allowed for this resource."},
			"too_large": {Status: 413, Type: "INVALID_ARGUMENT",
				Message: "Request payload size exceeds the limit: {limit} bytes."},
			"upgrade": {Status: 426, Type: "FAILED_PRECONDITION", Message: script.NoWebSocket},
			"coding":  {Status: 415, Type: "INVALID_ARGUMENT", Message: script.UnknownCoding},
			"no_model": {Status: 404, Type: "NOT_FOUND",
				Message: "Model is not found: models/{id} for api version v1beta"},
			"rate_limit": {Status: 429, Type: "RESOURCE_EXHAUSTED",
				Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."},
			"quota": {Status: 429, Type: "RESOURCE_EXHAUSTED",
				Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."},
			"overloaded": {Status: 503, Type: "UNAVAILABLE", Message: "The model is overloaded. Please try again later."},
			"server": {Status: 500, Type: "INTERNAL",
				Message: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
			"timeout": {Status: 504, Type: "DEADLINE_EXCEEDED",
				Message: "Deadline expired before operation could complete."},
			"context": {Status: 400, Type: "INVALID_ARGUMENT",
				Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
			"image": {Status: 400, Type: "INVALID_ARGUMENT",
				Message: "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
			"token": {Status: 400, Type: "INVALID_ARGUMENT",
				Message: "Corrupted thought signature."},
			"tool": {Status: 400, Type: "INVALID_ARGUMENT",
				Message: "* GenerateContentRequest.tools[0].function_declarations[{index}].parameters.properties: should be non-empty for OBJECT type\n"},
			"effort": {Status: 400, Type: "INVALID_ARGUMENT",
				Message: "Thinking level HIGH is not supported for this model. Please retry with other thinking level."},
		},
	}
}

// holdsKind reports whether a part of a request is an image or has a token, or whether the settings ask for the
// effort that a scenario refuses. The stand-ins for signatures that Gemini documents are no tokens.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Has("inlineData") || n.Has("inline_data")
	case "token":
		token := n.Any("thoughtSignature", "thought_signature").Text()
		return token != "" && token != "skip_thought_signature_validator" && token != "context_engineering_is_the_way_to_go"
	}
	return strings.EqualFold(n.Get("thinkingLevel").Text(), "HIGH")
}

// tellRetry says when to come back in Gemini's only form: a detail, and the end of the message.
func tellRetry(refusal *rule.Refusal, form string, wait time.Duration) {
	if form == "" {
		return
	}
	delay := fmt.Sprintf("%gs", wait.Seconds())
	refusal.Message += "\nPlease retry in " + delay + "."
	refusal.Details = script.JSON(script.Array{
		script.Object{"@type", "type.googleapis.com/google.rpc.Help", "links", script.Array{
			script.Object{"description", "Learn more about Gemini API quotas", "url", "https://ai.google.dev/gemini-api/docs/rate-limits"},
		}},
		script.Object{"@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", delay},
	})
}

func listModels(q url.Values) []byte {
	size, _ := strconv.Atoi(q.Get("pageSize")) // none: the usual
	return Models(size, q.Get("pageToken"))
}
