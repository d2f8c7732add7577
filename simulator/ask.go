package simulator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/tree"
)

// member returns the first of several names that the object has: Gemini accepts
// two spellings.
func member(n *tree.Node, names ...string) *tree.Node {
	for _, name := range names {
		if v := n.Get(name); v != nil {
			return v
		}
	}
	return nil
}

// objectsOf returns the objects of an array. An object alone is a list of one.
func objectsOf(n *tree.Node) []*tree.Node {
	if n.Is(tree.Object) {
		return []*tree.Node{n}
	}
	var all []*tree.Node
	list := n.List()
	for i := range list {
		if list[i].Is(tree.Object) {
			all = append(all, list[i])
		}
	}
	return all
}

// texts joins the texts of a string or of parts.
func texts(n *tree.Node) string {
	if !n.Is(tree.Array) {
		return n.Text()
	}
	var all []string
	for _, part := range objectsOf(n) {
		if s := part.Get("text").Text(); s != "" && !part.Get("thought").True() {
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n")
}

// tokenLimit is the number of tokens that a request allows, 0 without one.
func tokenLimit(n *tree.Node) int {
	limit, _ := n.Number()
	return int(limit)
}

// readers say what a request of a provider wants.
var readers = map[string]func(*tree.Node) script.Intent{"anthropic": anthropicIntent, "openai": openaiIntent, "gemini": geminiIntent}

// intentOf reads a request that the provider's Read has accepted. Check decides
// what the request may hold.
func intentOf(req script.Request) script.Intent { return readers[req.Provider](req.Document) }

// turns follows a conversation: a prompt starts anew, unless it stands beside
// results, as agents' reminders do.
type turns struct {
	script.Intent
	names   map[string]string // of calls, by id
	wrapped string            // what the client said last, the user's words or not
	run     modelRun
}

// modelRun is what is known of adjacent parts of the conversation that are the model's.
type modelRun struct{ parts, calls, searches int }

// addOwn notes a part of the model's turn; call is the name of what it calls, "" for
// anything else.
func (t *turns) addOwn(call string) {
	t.run.parts++
	if call == "" {
		return
	}
	t.run.calls++
	if script.IsToolSearch(call) {
		t.run.searches++
	}
}

// endRun counts the model's turn that ends here.
func (t *turns) endRun() {
	run := t.run
	t.run = modelRun{}
	if run.calls > 0 && run.calls == run.searches {
		t.Searches++
		return
	}
	if run.parts == 0 {
		return
	}
	if len(t.Messages) == 0 {
		t.Messages = []script.Message{{}}
	}
	last := &t.Messages[len(t.Messages)-1]
	last.Turns = append(last.Turns, run.calls)
}

// addText notes what the user said.
func (t *turns) addText(content *tree.Node) {
	t.endRun()
	if text := texts(content); text != "" {
		t.Messages = append(t.Messages, script.Message{Text: text})
	}
}

// startPrompt begins again with the user's words. The words of the last prompt again,
// behind results that the model has not answered yet, are not a prompt.
func (t *turns) startPrompt(content *tree.Node) {
	t.noteWords(content)
	text := userWords(content)
	if text == "" || len(t.Results) > 0 && text == t.Prompt {
		return
	}
	t.Prompt, t.Calls = text, nil
}

// noteWords keeps what was last said for a conversation without words of the user:
// agents wrap what they want titled or summarised.
func (t *turns) noteWords(content *tree.Node) {
	if text := texts(content); text != "" {
		t.wrapped = text
	}
}

// intent is what was found.
func (t *turns) intent() script.Intent {
	t.endRun()
	if t.Prompt == "" {
		t.Prompt = t.wrapped
	}
	return t.Intent
}

// startResults begins the results anew: the model has said something.
func (t *turns) startResults() { t.Results = nil }

func (t *turns) addResult(id, name, text string) {
	if name == "" {
		name = t.names[id]
	}
	if script.IsToolSearch(name) {
		return
	}
	t.Answered++
	t.Calls = append(t.Calls, script.Called{Name: name, Result: text})
	t.Results = append(t.Results, script.Called{Name: name, Result: text})
}

func anthropicIntent(d *tree.Node) script.Intent {
	t := turns{names: map[string]string{}}
	t.System, t.Limit = texts(d.Get("system")), tokenLimit(d.Get("max_tokens"))
	t.Schema = d.Get("output_config").Get("format").Get("schema").Map()
	if t.Schema == nil {
		t.Schema = d.Get("output_format").Get("schema").Map()
	}
	callable := anthropic.CallableTools(d)
	for _, tool := range objectsOf(d.Get("tools")) {
		if tool.Has("input_schema") && slices.Contains(callable, tool.Get("name").Text()) {
			t.Tools = append(t.Tools, script.Tool{Name: tool.Get("name").Text(), Schema: tool.Get("input_schema").Map()})
		}
		t.addHostedTool(tool.Get("type").Text(), "web_search_", "code_execution_")
	}
	switch choice := d.Get("tool_choice"); choice.Get("type").Text() {
	case "none":
		t.Choice = script.ChoiceNone
	case "any":
		t.Choice = script.ChoiceAny
	case "tool":
		t.Choice = choice.Get("name").Text()
	}
	for _, m := range objectsOf(d.Get("messages")) {
		t.addMessage(m)
	}
	return t.intent()
}

// addHostedTool notes a tool of the provider's own, by how the types of those for
// searching and for running code begin.
func (t *turns) addHostedTool(kind, search, code string) {
	switch {
	case strings.HasPrefix(kind, search):
		t.Hosted = append(t.Hosted, string(specs.KindSearch))
	case strings.HasPrefix(kind, code):
		t.Hosted = append(t.Hosted, string(specs.KindCode))
	}
}

func (t *turns) addMessage(m *tree.Node) {
	answers, calls := false, []string(nil)
	for _, b := range objectsOf(m.Get("content")) {
		switch b.Get("type").Text() {
		case "tool_use":
			calls = append(calls, b.Get("name").Text())
			t.names[b.Get("id").Text()] = b.Get("name").Text()
		case "tool_result":
			answers = true
			t.addResult(b.Get("tool_use_id").Text(), "", texts(b.Get("content")))
		}
	}
	switch m.Get("role").Text() {
	case "user":
		t.addText(m.Get("content"))
	case "assistant":
		t.addOwn("")
		for _, name := range calls {
			t.addOwn(name)
		}
	}
	switch {
	case m.Get("role").Text() == "user" && !answers:
		t.startPrompt(m.Get("content"))
	case m.Get("role").Text() == "assistant" && !onlySearches(calls):
		t.startResults()
	}
}

// onlySearches reports whether a turn of the model does nothing but look for tools.
func onlySearches(calls []string) bool {
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(name string) bool { return !script.IsToolSearch(name) })
}

// addOpenAITools adds what a request, or an item of it, offers, namespaces unpacked.
func (t *turns) addOpenAITools(list *tree.Node) {
	for _, tool := range objectsOf(list) {
		switch kind := tool.Get("type").Text(); kind {
		case "function":
			t.Tools = append(t.Tools, script.Tool{Name: tool.Get("name").Text(), Schema: tool.Get("parameters").Map()})
		case "custom":
			t.Tools = append(t.Tools, script.Tool{Name: tool.Get("name").Text(), Text: true, About: tool.Get("description").Text()})
		case "namespace":
			t.addOpenAITools(tool.Get("tools"))
		case "tool_search":
			if tool.Get("execution").Text() == "client" {
				t.Tools = append(t.Tools, script.Tool{Name: kind, Schema: tool.Get("parameters").Map()})
			}
		default:
			t.addHostedTool(kind, "web_search", "code_interpreter")
		}
	}
}

func openaiIntent(d *tree.Node) script.Intent {
	t := turns{names: map[string]string{}}
	t.System, t.Limit = d.Get("instructions").Text(), tokenLimit(d.Get("max_output_tokens"))
	t.Schema = formatSchema(d.Get("text").Get("format"))
	t.addOpenAITools(d.Get("tools"))
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
		t.addText(d.Get("input"))
		t.startPrompt(d.Get("input"))
	}
	for _, item := range objectsOf(d.Get("input")) {
		if strings.HasSuffix(item.Get("type").Text(), "_call") || item.Get("role").Text() == "assistant" {
			t.startResults()
		}
		if item.Get("execution").Text() != "server" { // what the provider found is among the tools of the request
			t.addOpenAITools(item.Get("tools"))
		}
		t.noteItem(item)
		switch {
		case item.Get("type").Text() == "function_call", item.Get("type").Text() == "custom_tool_call":
			t.names[item.Get("call_id").Text()] = item.Get("name").Text()
		case item.Get("type").Text() == "function_call_output", item.Get("type").Text() == "custom_tool_call_output":
			t.addResult(item.Get("call_id").Text(), "", texts(item.Get("output")))
		case item.Get("role").Text() == "user":
			t.startPrompt(item.Get("content"))
		case item.Get("role").Text() == "system" || item.Get("role").Text() == "developer":
			t.System += "\n" + texts(item.Get("content"))
		}
	}
	return t.intent()
}

// noteItem notes whose item it is.
func (t *turns) noteItem(item *tree.Node) {
	kind := item.Get("type").Text()
	switch {
	case item.Get("role").Text() == "user":
		t.addText(item.Get("content"))
	case kind == "function_call" || kind == "custom_tool_call":
		t.addOwn(item.Get("name").Text())
	case item.Get("execution").Text() == "server": // a search for tools, within a turn of the model
		t.addOwn("")
	case kind == "tool_search_call":
		t.addOwn("tool_search")
	case kind == "reasoning": // alone it is not a turn: clients keep it of a reply that broke off
	case strings.HasSuffix(kind, "_call") || item.Get("role").Text() == "assistant":
		t.addOwn("")
	case strings.HasSuffix(kind, "_output"):
		t.endRun()
	}
}

func geminiIntent(d *tree.Node) script.Intent {
	t := turns{}
	settings := member(d, "generationConfig", "generation_config")
	t.System = texts(member(d, "systemInstruction", "system_instruction").Get("parts"))
	t.Limit = tokenLimit(member(settings, "maxOutputTokens", "max_output_tokens"))
	t.Schema, t.Bare = answerSchema(settings)
	for _, set := range objectsOf(d.Get("tools")) {
		for _, f := range objectsOf(member(set, "functionDeclarations", "function_declarations")) {
			t.Tools = append(t.Tools, script.Tool{Name: f.Get("name").Text(),
				Schema: member(f, "parametersJsonSchema", "parameters_json_schema", "parameters").Map()})
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(set.Names()))) {
			t.addHostedTool(strings.ReplaceAll(strings.ToLower(name), "_", ""), "googlesearch", "codeexecution")
		}
	}
	t.Choice = geminiChoice(member(member(d, "toolConfig", "tool_config"), "functionCallingConfig", "function_calling_config"))
	for _, c := range objectsOf(d.Get("contents")) {
		if c.Get("role").Text() == "model" {
			t.startResults()
			t.addOwn("")
		} else {
			t.addText(c.Get("parts"))
		}
		before := len(t.Calls)
		for _, p := range objectsOf(c.Get("parts")) {
			if r := member(p, "functionResponse", "function_response"); r.Is(tree.Object) {
				t.addResult("", r.Get("name").Text(), resultOf(r.Get("response").Decoded()))
			}
			if call := member(p, "functionCall", "function_call"); call.Is(tree.Object) {
				t.addOwn(call.Get("name").Text())
			}
		}
		if c.Get("role").Text() != "model" && len(t.Calls) == before {
			t.startPrompt(c.Get("parts"))
		}
	}
	return t.intent()
}

// anyObject is the schema of an answer that is to be JSON and no more.
var anyObject = map[string]any{"type": "object"}

// formatSchema is the schema of OpenAI's format, nil for prose.
func formatSchema(format *tree.Node) map[string]any {
	if format.Get("type").Text() == "json_object" {
		return anyObject
	}
	return format.Get("schema").Map()
}

// answerSchema returns the schema of Gemini's answer, nil for prose, and whether
// the answer is one of its values without quotation marks.
func answerSchema(settings *tree.Node) (schema map[string]any, bare bool) {
	mime := member(settings, "responseMimeType", "response_mime_type").Text()
	schema = member(settings, "responseJsonSchema", "response_json_schema", "_responseJsonSchema", "responseSchema", "response_schema").Map()
	if schema == nil && mime == "application/json" {
		schema = anyObject
	}
	return schema, mime == "text/x.enum"
}

// resultOf returns the text of a result: that of its only member, else all of
// it.
func resultOf(response any) string {
	if m, _ := response.(map[string]any); len(m) == 1 {
		for _, v := range m {
			if text, ok := v.(string); ok {
				return text
			}
		}
	}
	out, _ := json.Marshal(response) // decoded JSON always encodes
	return string(out)
}

func geminiChoice(config *tree.Node) string {
	switch strings.ToUpper(config.Get("mode").Text()) {
	case "NONE":
		return script.ChoiceNone
	case "ANY":
		if names := member(config, "allowedFunctionNames", "allowed_function_names").List(); len(names) == 1 {
			return names[0].Text()
		}
		return script.ChoiceAny
	}
	return ""
}
