package openai

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// addTools adds what a request, or an item of it, offers, namespaces unpacked.
func addTools(t *script.Conversation, list *tree.Node) {
	for _, tool := range script.ObjectsOf(list) {
		switch kind := tool.Get("type").Text(); kind {
		case "function":
			t.Tools = append(t.Tools, script.Tool{Name: tool.Get("name").Text(), Schema: tool.Get("parameters").Map()})
		case "custom":
			t.Tools = append(t.Tools, script.Tool{Name: tool.Get("name").Text(), Text: true, About: tool.Get("description").Text()})
		case "namespace":
			addTools(t, tool.Get("tools"))
		case "tool_search":
			if tool.Get("execution").Text() == "client" {
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
	t.System, t.Limit = d.Get("instructions").Text(), script.LimitOf(d.Get("max_output_tokens"))
	t.Schema = formatSchema(d.Get("text").Get("format"))
	addTools(t, d.Get("tools"))
	switch d.Get("tool_choice").Text() {
	case "none":
		t.Choice = script.ChoiceNone
	case "required":
		t.Choice = script.ChoiceAny
	}
	if choice := d.Get("tool_choice"); choice.Get("type").Text() == "function" || choice.Get("type").Text() == "custom" {
		t.Choice = choice.Get("name").Text()
	}
	if d.Get("input").Is(tree.String) {
		t.AddText(d.Get("input"))
		t.StartPrompt(d.Get("input"))
	}
	for _, item := range script.ObjectsOf(d.Get("input")) {
		if strings.HasSuffix(item.Get("type").Text(), "_call") || item.Get("role").Text() == "assistant" {
			t.StartResults()
		}
		if item.Get("execution").Text() != "server" { // what the provider found is among the tools of the request
			addTools(t, item.Get("tools"))
		}
		noteItem(t, item)
		switch {
		case item.Get("type").Text() == "function_call", item.Get("type").Text() == "custom_tool_call":
			t.Names[item.Get("call_id").Text()] = item.Get("name").Text()
		case item.Get("type").Text() == "function_call_output", item.Get("type").Text() == "custom_tool_call_output":
			t.AddResult(item.Get("call_id").Text(), "", script.Texts(item.Get("output")))
		case item.Get("role").Text() == "user":
			t.StartPrompt(item.Get("content"))
		case item.Get("role").Text() == "system" || item.Get("role").Text() == "developer":
			t.System += "\n" + script.Texts(item.Get("content"))
		}
	}
	return t.Done()
}

// noteItem notes whose item it is.
func noteItem(t *script.Conversation, item *tree.Node) {
	kind := item.Get("type").Text()
	switch {
	case item.Get("role").Text() == "user":
		t.AddText(item.Get("content"))
	case kind == "function_call" || kind == "custom_tool_call":
		t.AddOwn(item.Get("name").Text())
	case item.Get("execution").Text() == "server": // a search for tools, within a turn of the model
		t.AddOwn("")
	case kind == "tool_search_call":
		t.AddOwn("tool_search")
	case kind == "reasoning": // alone it is not a turn: clients keep it of a reply that broke off
	case strings.HasSuffix(kind, "_call") || item.Get("role").Text() == "assistant":
		t.AddOwn("")
	case strings.HasSuffix(kind, "_output"):
		t.EndRun()
	}
}

// formatSchema is the schema of OpenAI's format, nil for prose.
func formatSchema(format *tree.Node) map[string]any {
	if format.Get("type").Text() == "json_object" {
		return script.AnyObject()
	}
	return format.Get("schema").Map()
}
