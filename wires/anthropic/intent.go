package anthropic

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

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
