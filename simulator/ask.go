package simulator

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// dict is a decoded JSON object. Its accessors return the zero value for what is
// absent or of another type: what a request may hold is Check's business.
type dict map[string]any

// at returns the first of names that is there: Gemini takes two spellings.
func (d dict) at(names ...string) any {
	for _, n := range names {
		if v, ok := d[n]; ok {
			return v
		}
	}
	return nil
}

func (d dict) dict(names ...string) dict {
	m, _ := d.at(names...).(map[string]any)
	return m
}

func (d dict) str(names ...string) string {
	s, _ := d.at(names...).(string)
	return s
}

func (d dict) num(names ...string) int {
	n, _ := d.at(names...).(float64)
	return int(n)
}

// list returns the objects of an array; a lone object is a list of one.
func (d dict) list(names ...string) []dict {
	switch v := d.at(names...).(type) {
	case map[string]any:
		return []dict{v}
	case []any:
		var all []dict
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				all = append(all, m)
			}
		}
		return all
	}
	return nil
}

// texts joins the texts of a string or of parts.
func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, part := range (dict{"": v}).list("") {
			if s := part.str("text"); s != "" && part["thought"] != true {
				all = append(all, s)
			}
		}
		return strings.Join(all, "\n")
	}
	return ""
}

// readers say what a request of a provider wants.
var readers = map[string]func(dict) script.Ask{"anthropic": askAnthropic, "openai": askOpenAI, "gemini": askGemini}

// askOf reads a body that the provider's Read has accepted.
func askOf(provider string, body []byte) script.Ask {
	var d dict
	if json.Unmarshal(body, &d) != nil {
		return script.Ask{}
	}
	return readers[provider](d)
}

// turns follows a conversation: a prompt starts anew, unless it stands beside
// results, as agents' reminders do.
type turns struct {
	script.Ask
	names map[string]string // of calls, by id
}

func (t *turns) prompt(text string) {
	if text != "" {
		t.Prompt, t.Calls = text, nil
	}
}

// spoke begins the results anew: the model has said something.
func (t *turns) spoke() { t.Results = nil }

func (t *turns) result(id, name, text string) {
	if name == "" {
		name = t.names[id]
	}
	t.Calls = append(t.Calls, script.Called{Name: name, Result: text})
	t.Results = append(t.Results, script.Called{Name: name, Result: text})
}

func askAnthropic(d dict) script.Ask {
	t := turns{names: map[string]string{}}
	t.System, t.Limit = texts(d["system"]), d.num("max_tokens")
	t.Schema = d.dict("output_config").dict("format").dict("schema")
	if t.Schema == nil {
		t.Schema = d.dict("output_format").dict("schema")
	}
	for _, tool := range d.list("tools") {
		if tool["input_schema"] != nil {
			t.Tools = append(t.Tools, script.Tool{Name: tool.str("name"), Schema: tool.dict("input_schema")})
		}
		t.hosts(tool.str("type"), "web_search_", "code_execution_")
	}
	switch choice := d.dict("tool_choice"); choice.str("type") {
	case "none":
		t.Choice = script.ChoiceNone
	case "any":
		t.Choice = script.ChoiceAny
	case "tool":
		t.Choice = choice.str("name")
	}
	for _, m := range d.list("messages") {
		t.message(m)
	}
	return t.Ask
}

// hosts notes a tool of the provider's own, by how the types of those for
// searching and for running code begin.
func (t *turns) hosts(kind, search, code string) {
	switch {
	case strings.HasPrefix(kind, search):
		t.Hosted = append(t.Hosted, string(specs.KindSearch))
	case strings.HasPrefix(kind, code):
		t.Hosted = append(t.Hosted, string(specs.KindCode))
	}
}

func (t *turns) message(m dict) {
	if m.str("role") == "assistant" {
		t.spoke()
	}
	before := len(t.Calls)
	for _, b := range m.list("content") {
		switch b.str("type") {
		case "tool_use":
			t.names[b.str("id")] = b.str("name")
		case "tool_result":
			t.result(b.str("tool_use_id"), "", texts(b["content"]))
		}
	}
	if m.str("role") == "user" && len(t.Calls) == before {
		t.prompt(texts(m["content"]))
	}
}

func askOpenAI(d dict) script.Ask {
	t := turns{names: map[string]string{}}
	t.System, t.Limit = d.str("instructions"), d.num("max_output_tokens")
	t.Schema = structured(d.dict("text").dict("format"))
	for _, tool := range d.list("tools") {
		if tool.str("type") == "function" {
			t.Tools = append(t.Tools, script.Tool{Name: tool.str("name"), Schema: tool.dict("parameters")})
		}
		t.hosts(tool.str("type"), "web_search", "code_interpreter")
	}
	switch d.str("tool_choice") {
	case "none":
		t.Choice = script.ChoiceNone
	case "required":
		t.Choice = script.ChoiceAny
	}
	if choice := d.dict("tool_choice"); choice.str("type") == "function" {
		t.Choice = choice.str("name")
	}
	t.prompt(d.str("input"))
	for _, item := range d.list("input") {
		if strings.HasSuffix(item.str("type"), "_call") || item.str("role") == "assistant" {
			t.spoke()
		}
		switch {
		case item.str("type") == "function_call":
			t.names[item.str("call_id")] = item.str("name")
		case item.str("type") == "function_call_output":
			t.result(item.str("call_id"), "", texts(item["output"]))
		case item.str("role") == "user":
			t.prompt(texts(item["content"]))
		case item.str("role") == "system" || item.str("role") == "developer":
			t.System += "\n" + texts(item["content"])
		}
	}
	return t.Ask
}

func askGemini(d dict) script.Ask {
	t := turns{}
	settings := d.dict("generationConfig", "generation_config")
	t.System = texts(d.dict("systemInstruction", "system_instruction")["parts"])
	t.Limit = settings.num("maxOutputTokens", "max_output_tokens")
	t.Schema, t.Bare = shaped(settings)
	for _, set := range d.list("tools") {
		for _, f := range set.list("functionDeclarations", "function_declarations") {
			t.Tools = append(t.Tools, script.Tool{Name: f.str("name"),
				Schema: f.dict("parametersJsonSchema", "parameters_json_schema", "parameters")})
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			t.hosts(strings.ReplaceAll(strings.ToLower(name), "_", ""), "googlesearch", "codeexecution")
		}
	}
	t.Choice = geminiChoice(d.dict("toolConfig", "tool_config").dict("functionCallingConfig", "function_calling_config"))
	for _, c := range d.list("contents") {
		if c.str("role") == "model" {
			t.spoke()
		}
		before := len(t.Calls)
		for _, p := range c.list("parts") {
			if r := p.dict("functionResponse", "function_response"); r != nil {
				t.result("", r.str("name"), resultOf(r["response"]))
			}
		}
		if c.str("role") != "model" && len(t.Calls) == before {
			t.prompt(texts(c["parts"]))
		}
	}
	return t.Ask
}

// anyObject is the schema of an answer that is to be JSON and no more.
var anyObject = map[string]any{"type": "object"}

// structured is the schema of OpenAI's format, nil for prose.
func structured(format dict) map[string]any {
	if format.str("type") == "json_object" {
		return anyObject
	}
	return format.dict("schema")
}

// shaped is the schema of Gemini's answer, nil for prose, and whether the answer
// is to be one of its values without quotation marks.
func shaped(settings dict) (schema map[string]any, bare bool) {
	mime := settings.str("responseMimeType", "response_mime_type")
	schema = settings.dict("responseJsonSchema", "response_json_schema", "_responseJsonSchema", "responseSchema", "response_schema")
	if schema == nil && mime == "application/json" {
		schema = anyObject
	}
	return schema, mime == "text/x.enum"
}

// resultOf is the text of a result: what its one member says, else all of it.
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

func geminiChoice(config dict) string {
	switch strings.ToUpper(config.str("mode")) {
	case "NONE":
		return script.ChoiceNone
	case "ANY":
		if names, _ := config.at("allowedFunctionNames", "allowed_function_names").([]any); len(names) == 1 {
			name, _ := names[0].(string)
			return name
		}
		return script.ChoiceAny
	}
	return ""
}
