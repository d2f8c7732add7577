package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know of the Responses API.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: passes,
		ListModels: func(url.Values) []byte { return Models() }, ShowModel: Model, Holds: holdsKind,
		Compacted: Window, OpenMessage: openMessage,
		Storage: &script.Storage{
			ID: ResponseID, Keeps: isKept, Queued: func(body []byte) []byte { return unfinishedResponse(body, "queued") },
			Previous: previousOf, Lost: previousLost, Continue: continueFrom, Answer: answerStored,
		},
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(`^/v1/responses$`), Operation: script.Generate},
			{Path: regexp.MustCompile(`^/v1/responses/compact$`), Operation: script.Compact},
			{Path: regexp.MustCompile(`^/v1/responses/input_tokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(`^/v1/responses/([^/]+)$`), Operation: script.Stored},
			{Path: regexp.MustCompile(`^/v1/responses/([^/]+)/cancel$`), Operation: script.Cancel},
			{Path: regexp.MustCompile(`^/v1/responses/([^/]+)/input_items$`), Operation: script.Inputs},
			{Path: regexp.MustCompile(`^/v1/models$`), Operation: script.Models},
			{Path: regexp.MustCompile(`^/v1/models/(.+)$`), Operation: script.Model},
		},
		// codex calls these paths at chatgpt.com when it is logged in to ChatGPT.
		OtherPaths:   [][2]string{{"/backend-api/codex/", "/v1/"}},
		UnknownEvent: "event: response.future_event\ndata: {\"type\":\"response.future_event\",\"note\":\"new\",\"sequence_number\":1}\n\n",
		Refusals: map[string]rule.Refusal{
			"not_found": {Status: 404, Type: "invalid_request_error", Message: "Invalid URL ({method} {path})"},
			"wrong_key": {Status: 401, Type: "invalid_request_error", Code: "invalid_api_key",
				Message: "Incorrect API key provided: ********. You can find your API key at https://platform.openai.com/account/api-keys."},
			"not_allowed": {Status: 405, Type: "invalid_request_error", Code: "method_not_supported",
				Message: "Not allowed to {method} on {path}. (HINT: Perhaps you meant to use a different HTTP method?)"},
			"too_large": {Status: 413, Type: "invalid_request_error", Code: "request_too_large",
				Message: "Request body is too large."},
			"upgrade": {Status: 426, Type: "invalid_request_error", Code: "websocket_not_supported",
				Message: script.NoWebSocket},
			"coding": {Status: 415, Type: "invalid_request_error", Code: "unsupported_content_encoding",
				Message: script.UnknownCoding},
			"no_model": {Status: 404, Type: "invalid_request_error", Code: "model_not_found", Param: "model",
				Message: "The model '{id}' does not exist"},
			"rate_limit": {Status: 429, Type: "requests", Code: "rate_limit_exceeded",
				Message: "Rate limit reached. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more."},
			"quota": {Status: 429, Type: "insufficient_quota", Code: "insufficient_quota",
				Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."},
			"overloaded": {Status: 503, Type: "server_error",
				Message: "The server is currently overloaded with other requests. Sorry about that! You can retry your request, or contact us through our help center at help.openai.com if the error persists."},
			"server": {Status: 500, Type: "server_error",
				Message: "The server had an error while processing your request. Sorry about that!"},
			"timeout": {Status: 504, Type: "server_error", Message: "Gateway timeout"},
			"context": {Status: 400, Type: "invalid_request_error", Code: "context_length_exceeded", Param: "input",
				Message: "Your input exceeds the context window of this model. Please adjust your input and try again."},
			"image": {Status: 400, Type: "invalid_request_error", Code: "image_parse_error", Param: "input",
				Message: "The image data you provided does not represent a valid image. Please check your input and try again."},
			"token": {Status: 400, Type: "invalid_request_error", Code: "invalid_encrypted_content",
				Message: "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."},
			"tool": {Status: 400, Type: "invalid_request_error", Code: "invalid_function_parameters", Param: "tools[{index}].parameters",
				Message: "Invalid schema for function '{tool}': In context=(), object schema missing properties."},
			"effort": {Status: 400, Type: "invalid_request_error", Code: "unsupported_value", Param: "reasoning.effort",
				Message: "Unsupported value: 'xhigh' is not supported with this model. Supported values are: 'none', 'low', 'medium', and 'high'."},
		},
	}
}

// holdsKind reports whether an item or a part of a request is an image or has a token, or whether the settings
// ask for the effort that a scenario refuses.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Get("type").Text() == "input_image"
	case "token":
		return n.Get("encrypted_content").Text() != ""
	}
	return n.Get("effort").Text() == "xhigh"
}

// openMessage makes the message of a WebSocket a request: the members of the envelope go, and the reply is
// a stream, as over WebSockets it always is.
func openMessage(message *tree.Node) (request []byte, warmsUp bool, refusal *rule.Refusal) {
	kind := message.Get("type")
	if kind.Text() != "response.create" {
		return nil, false, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value", Param: "type",
			Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'response.create'.", kind.Text())}
	}
	if message.Get("background").True() {
		return nil, false, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "unsupported_parameter", Param: "background",
			Message: "Unsupported parameter: 'background' is not supported over WebSocket."}
	}
	generate := message.Get("generate")
	out := script.Object{}
	for i, name := range message.Names() {
		switch name {
		case "type", "generate", "stream", "background":
		default:
			out = append(out, name, message.Items()[i])
		}
	}
	return script.JSON(append(out, "stream", true)), generate.Is(tree.Bool) && !generate.True(), nil
}
