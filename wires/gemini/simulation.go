package gemini

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: texts.Accepted,
		ListModels: listModels, ShowModel: Model, Holds: holdsKind, Retry: tellRetry,
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(resource + `/([^/:]+):(?:generateContent|streamGenerateContent)$`),
				Operation: script.Generate},
			{Path: regexp.MustCompile(resource + `/([^/:]+):countTokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(resource + `$`), Operation: script.Models},
			{Path: regexp.MustCompile(resource + `/([^:]+)$`), Operation: script.Model},
		},
		UnknownEvent: "data: {\"futureUpdate\": {\"note\": \"new\"}}\r\n\r\n",
		Refusals:     texts.Kinds,
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
		return token != "" && token != "skip_thought_signature_validator" &&
			token != "context_engineering_is_the_way_to_go"
	}
	return strings.EqualFold(n.Text("thinkingLevel"), "HIGH")
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
			script.Object{"description", "Learn more about Gemini API quotas", "url",
				"https://ai.google.dev/gemini-api/docs/rate-limits"},
		}},
		script.Object{"@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", delay},
	})
}

func listModels(q url.Values) []byte {
	size, _ := strconv.Atoi(q.Get("pageSize")) // none: the usual
	return Models(size, q.Get("pageToken"))
}

// readIntent says what a request wants.
func readIntent(d *tree.Node) script.Intent {
	t := script.NewConversation()
	settings := d.Any("generationConfig", "generation_config")
	t.System = script.Texts(d.Any("systemInstruction", "system_instruction").Get("parts"))
	t.Limit = script.LimitOf(settings.Any("maxOutputTokens", "max_output_tokens"))
	t.Schema, t.Bare = answerSchema(settings)
	for _, set := range script.ObjectsOf(d.Get("tools")) {
		for _, f := range script.ObjectsOf(set.Any("functionDeclarations", "function_declarations")) {
			t.Tools = append(t.Tools, script.Tool{Name: f.Text("name"),
				Schema: f.Any("parametersJsonSchema", "parameters_json_schema", "parameters").Map()})
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(set.Names()))) {
			t.AddHostedTool(strings.ReplaceAll(strings.ToLower(name), "_", ""), "googlesearch", "codeexecution")
		}
	}
	t.Choice = readChoice(d.Any("toolConfig", "tool_config").Any("functionCallingConfig", "function_calling_config"))
	for _, c := range script.ObjectsOf(d.Get("contents")) {
		if c.Text("role") == "model" {
			t.StartResults()
			t.AddOwn("")
		} else {
			t.AddText(c.Get("parts"))
		}
		before := len(t.Calls)
		for _, p := range script.ObjectsOf(c.Get("parts")) {
			if r := p.Any("functionResponse", "function_response"); r.Is(tree.Object) {
				t.AddResult("", r.Text("name"), resultOf(r.Get("response").Decoded()))
			}
			if call := p.Any("functionCall", "function_call"); call.Is(tree.Object) {
				t.AddOwn(call.Text("name"))
			}
		}
		if c.Text("role") != "model" && len(t.Calls) == before {
			t.StartPrompt(c.Get("parts"))
		}
	}
	return t.Done()
}

// answerSchema returns the schema of Gemini's answer, nil for prose, and whether
// the answer is one of its values without quotation marks.
func answerSchema(settings *tree.Node) (schema map[string]any, bare bool) {
	mime := settings.Any("responseMimeType", "response_mime_type").Text()
	schema = settings.Any("responseJsonSchema", "response_json_schema", "_responseJsonSchema", "responseSchema",
		"response_schema").Map()
	if schema == nil && mime == "application/json" {
		schema = script.AnyObject()
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

func readChoice(config *tree.Node) string {
	switch strings.ToUpper(config.Text("mode")) {
	case "NONE":
		return script.ChoiceNone
	case "ANY":
		if names := config.Any("allowedFunctionNames", "allowed_function_names").List(); len(names) == 1 {
			return names[0].Text()
		}
		return script.ChoiceAny
	}
	return ""
}
