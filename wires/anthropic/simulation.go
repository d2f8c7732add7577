package anthropic

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know of the Messages API.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: texts.Accepted,
		ListModels: listModels, ShowModel: Model, Holds: holdsKind,
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(`^/v1/messages$`), Operation: script.Generate},
			{Path: regexp.MustCompile(`^/v1/messages/count_tokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(`^/v1/models$`), Operation: script.Models},
			{Path: regexp.MustCompile(`^/v1/models/(.+)$`), Operation: script.Model},
		},
		UnknownEvent: "event: future_event\ndata: {\"type\":\"future_event\",\"note\":\"new\"}\n\n",
		Refusals:     texts.Kinds,
	}
}

// holdsKind reports whether a block of a request is an image or has a token, or whether the settings ask for the
// effort that a scenario refuses.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Text("type") == "image"
	case "token":
		return n.Any("signature", "encrypted_content").Text() != "" || n.Text("type") == "redacted_thinking"
	}
	return n.Text("effort") == "max"
}

func listModels(q url.Values) []byte {
	limit, _ := strconv.Atoi(q.Get("limit")) // none: the usual
	return Models(limit, q.Get("after_id"), q.Get("before_id"))
}

// readIntent says what a request wants.
func readIntent(d *tree.Node) script.Intent {
	t := script.NewConversation()
	t.System, t.Limit = script.Texts(d.Get("system")), script.LimitOf(d.Get("max_tokens"))
	t.Schema = d.Get("output_config", "format", "schema").Map()
	if t.Schema == nil {
		t.Schema = d.Get("output_format", "schema").Map()
	}
	callable := CallableTools(d)
	for _, tool := range script.ObjectsOf(d.Get("tools")) {
		if tool.Has("input_schema") && slices.Contains(callable, tool.Text("name")) {
			t.Tools = append(t.Tools, script.Tool{Name: tool.Text("name"), Schema: tool.Get("input_schema").Map()})
		}
		t.AddHostedTool(tool.Text("type"), "web_search_", "code_execution_")
	}
	switch choice := d.Get("tool_choice"); choice.Text("type") {
	case "none":
		t.Choice = script.ChoiceNone
	case "any":
		t.Choice = script.ChoiceAny
	case "tool":
		t.Choice = choice.Text("name")
	}
	for _, m := range script.ObjectsOf(d.Get("messages")) {
		answers, calls := false, []string(nil)
		for _, b := range script.ObjectsOf(m.Get("content")) {
			switch b.Text("type") {
			case "tool_use":
				calls = append(calls, b.Text("name"))
				t.Names[b.Text("id")] = b.Text("name")
			case "tool_result":
				answers = true
				t.AddResult(b.Text("tool_use_id"), "", script.Texts(b.Get("content")))
			}
		}
		switch m.Text("role") {
		case "user":
			t.AddText(m.Get("content"))
		case "assistant":
			t.AddOwn("")
			for _, name := range calls {
				t.AddOwn(name)
			}
		}
		switch {
		case m.Text("role") == "user" && !answers:
			t.StartPrompt(m.Get("content"))
		case m.Text("role") == "assistant" && !onlySearches(calls):
			t.StartResults()
		}
	}
	return t.Done()
}

// onlySearches reports whether a turn of the model does nothing but look for tools.
func onlySearches(calls []string) bool {
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(name string) bool { return !script.IsToolSearch(name) })
}
