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
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: texts.Accepted,
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
		Refusals:     texts.Kinds,
	}
}

// holdsKind reports whether an item or a part of a request is an image or has a token, or whether the settings
// ask for the effort that a scenario refuses.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Text("type") == "input_image"
	case "token":
		return n.Text("encrypted_content") != ""
	}
	return n.Text("effort") == "xhigh"
}

// openMessage makes the message of a WebSocket a request: the members of the envelope go, and the reply is
// a stream, as over WebSockets it always is.
func openMessage(message *tree.Node) (request []byte, warmsUp bool, refusal *rule.Refusal) {
	kind := message.Get("type")
	if kind.Text() != "response.create" {
		return nil, false, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value", Param: "type",
			Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'response.create'.", kind.Text())}
	}
	if message.True("background") {
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
