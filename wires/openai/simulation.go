package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

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
			ID: ResponseID, Keeps: isKept,
			Queued:   func(body []byte) []byte { return unfinishedResponse(body, "queued") },
			Previous: func(request *tree.Node) string { return request.Text(memberPrevious) },
			Lost:     previousLost, Continue: continueFrom, Answer: answerStored,
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
		return nil, false, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error",
			Code: "invalid_value", Param: "type",
			Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'response.create'.", kind.Text())}
	}
	if message.True("background") {
		return nil, false, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error",
			Code: "unsupported_parameter", Param: "background",
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

// addTools adds what a request, or an item of it, offers, namespaces unpacked.
func addTools(t *script.Conversation, list *tree.Node) {
	for _, tool := range script.ObjectsOf(list) {
		switch kind := tool.Text("type"); kind {
		case "function":
			t.Tools = append(t.Tools, script.Tool{Name: tool.Text("name"), Schema: tool.Get("parameters").Map()})
		case "custom":
			t.Tools = append(t.Tools, script.Tool{Name: tool.Text("name"), Text: true, About: tool.Text("description")})
		case "namespace":
			addTools(t, tool.Get("tools"))
		case "tool_search":
			if tool.Text("execution") == "client" {
				t.Tools = append(t.Tools, script.Tool{Name: kind, Schema: tool.Get("parameters").Map()})
			}
		default:
			t.AddHostedTool(kind, "web_search", "code_interpreter")
		}
	}
}

// readIntent says what a request wants.
func readIntent(d *tree.Node) script.Intent {
	t := script.NewConversation()
	t.System, t.Limit = d.Text("instructions"), script.LimitOf(d.Get("max_output_tokens"))
	t.Schema = formatSchema(d.Get("text", "format"))
	addTools(t, d.Get("tools"))
	switch d.Text("tool_choice") {
	case "none":
		t.Choice = script.ChoiceNone
	case "required":
		t.Choice = script.ChoiceAny
	}
	if choice := d.Get("tool_choice"); choice.Text("type") == "function" || choice.Text("type") == "custom" {
		t.Choice = choice.Text("name")
	}
	if d.Get("input").Is(tree.String) {
		t.AddText(d.Get("input"))
		t.StartPrompt(d.Get("input"))
	}
	for _, item := range script.ObjectsOf(d.Get("input")) {
		if strings.HasSuffix(item.Text("type"), "_call") || item.Text("role") == "assistant" {
			t.StartResults()
		}
		if item.Text("execution") != "server" { // what the provider found is among the tools of the request
			addTools(t, item.Get("tools"))
		}
		noteItem(t, item)
		switch {
		case item.Text("type") == "function_call", item.Text("type") == "custom_tool_call":
			t.Names[item.Text("call_id")] = item.Text("name")
		case item.Text("type") == "function_call_output", item.Text("type") == "custom_tool_call_output":
			t.AddResult(item.Text("call_id"), "", script.Texts(item.Get("output")))
		case item.Text("role") == "user":
			t.StartPrompt(item.Get("content"))
		case item.Text("role") == "system" || item.Text("role") == "developer":
			t.System += "\n" + script.Texts(item.Get("content"))
		}
	}
	return t.Done()
}

// noteItem notes whose item it is.
func noteItem(t *script.Conversation, item *tree.Node) {
	kind := item.Text("type")
	switch {
	case item.Text("role") == "user":
		t.AddText(item.Get("content"))
	case kind == "function_call" || kind == "custom_tool_call":
		t.AddOwn(item.Text("name"))
	case item.Text("execution") == "server": // a search for tools, within a turn of the model
		t.AddOwn("")
	case kind == "tool_search_call":
		t.AddOwn("tool_search")
	case kind == "reasoning": // alone it is not a turn: clients keep it of a reply that broke off
	case strings.HasSuffix(kind, "_call") || item.Text("role") == "assistant":
		t.AddOwn("")
	case strings.HasSuffix(kind, "_output"):
		t.EndRun()
	}
}

// formatSchema is the schema of OpenAI's format, nil for prose.
func formatSchema(format *tree.Node) map[string]any {
	if format.Text("type") == "json_object" {
		return script.AnyObject()
	}
	return format.Get("schema").Map()
}
