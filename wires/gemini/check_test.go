package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

var testKey = seal.NewKey("rules")

const (
	dev    = "/v1beta/models/gemini-3.5-flash:generateContent"
	older  = "/v1beta/models/gemini-2.5-flash:generateContent"
	vertex = "/v1/projects/p/locations/global/publishers/google/models/gemini-3.5-flash:generateContent"
)

// ask is one request and what comes of it: a message that a refusal must equal,
// or begin with when it ends in an ellipsis; none is an acceptance.
type ask struct {
	name    string
	path    string // "" is dev
	header  string // "NAME: VALUE" instead of a key
	body    string
	rule    string
	status  int
	message string
	level   rule.Level
	field   string // first of the field violations
	at      string // where the referee reports the rule
}

func (a ask) request() *http.Request {
	path := a.path
	if path == "" {
		path = dev
	}
	r, err := http.NewRequest(http.MethodPost, "http://sim"+path, nil)
	if err != nil {
		panic(err)
	}
	if a.header == "" {
		a.header = "x-goog-api-key: made-up"
	}
	if name, value, ok := strings.Cut(a.header, ": "); ok {
		r.Header.Set(name, value)
	}
	return r
}

// reported lists the places at which the referee reports the rule, or any where it has none.
func (a ask) reported() (places []string) {
	q := Parse(a.request(), []byte(a.body)).q
	seen := rule.Seen{URL: q.URL, Root: q.body, Model: q.route.model, Takes: q.model.takes}
	for _, passes := range judgeRequest(seen, func(rule.Hosts) bool { return true }) {
		for _, p := range passes {
			for _, b := range p.Breaches {
				if b.Form != "" && (b.Rule == a.rule || a.rule == "") {
					places = append(places, b.Path)
				}
			}
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

func checks(t *testing.T, asks []ask) {
	t.Helper()
	for _, a := range asks {
		t.Run(a.name, func(t *testing.T) {
			if want := strings.Fields(a.at); a.at != "" && !slices.Equal(a.reported(), want) {
				t.Errorf("reported at %q, want %q", a.reported(), want)
			}
			got := Parse(a.request(), []byte(a.body)).Check(rule.Env{Key: testKey, Level: a.level})
			if a.rule == "" {
				if got != nil {
					t.Fatalf("refused: %v (%s)", got, got.Note)
				}
				return
			}
			if got == nil {
				t.Fatalf("accepted, want %s", a.rule)
			}
			if a.status == 0 {
				a.status = http.StatusBadRequest
			}
			begin, open := strings.CutSuffix(a.message, "…")
			if got.Rule != a.rule || got.Status != a.status ||
				got.Message != begin && (!open || !strings.HasPrefix(got.Message, begin)) {
				t.Errorf("%s %d %q\nwant %s %d %q", got.Rule, got.Status, got.Message, a.rule, a.status, a.message)
			}
			if want := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
				404: "NOT_FOUND"}[a.status]; got.Type != want {
				t.Errorf("status %s, want %s", got.Type, want)
			}
			if a.field != "" && !bytes.Contains(got.Details, []byte(`"fieldViolations":[{"field":"`+a.field+`"`)) {
				t.Errorf("details %s, want the field %s", got.Details, a.field)
			}
			off := rule.Env{Key: testKey, Level: a.level, Off: map[string]bool{a.rule: true}}
			if again := Parse(a.request(), []byte(a.body)).Check(off); again != nil && again.Rule == a.rule {
				t.Errorf("%s answers though it is off", a.rule)
			}
		})
	}
}

const hello = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`

func parts(p string) string { return `{"contents":[{"role":"user","parts":[` + p + `]}]}` }

func tools(declarations string) string {
	return `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[` + declarations + `]}]}`
}

func config(c string) string {
	return `{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{` + c + `}}`
}

func TestCallerRules(t *testing.T) {
	checks(t, []ask{
		{name: "no key", header: "X: y", body: hello, rule: "G-1", status: 403,
			message: "Method doesn't allow unregistered callers…"},
		{name: "bad key", header: "x-goog-api-key: invalid-key", body: "{", rule: "G-1",
			message: "API key not valid. Please pass a valid API key."},
		{name: "no key has spaces", path: dev + "?key=a%20b", header: "X: y", body: hello, rule: "G-1",
			message: "API key not valid. Please pass a valid API key."},
		{name: "key in the query", path: dev + "?key=k", header: "X: y", body: hello},
		{name: "a token", header: "Authorization: Bearer t", body: hello},
		{name: "no token", path: vertex, header: "X: y", body: hello, rule: "G-1", status: 401,
			message: "Request is missing required authentication credential…"},
		{name: "model", path: "/v1beta/models/gemini-3.6-flahs:streamGenerateContent", body: hello, rule: "G-2",
			status:  404,
			message: "models/gemini-3.6-flahs is not found for API version v1beta, or is not supported for generateContent. Call ModelService.ListModels to see the list of available models and their supported methods."},
		{name: "method", path: "/v1/models/gemini-3.5-flash:embedContent", body: hello, rule: "G-2", status: 404,
			message: "models/gemini-3.5-flash is not found for API version v1, or is not supported for embedContent. …"},
		{name: "model on Vertex", path: strings.Replace(vertex, "3.5", "9", 1), body: hello, rule: "G-2", status: 404,
			message: "Publisher Model `projects/p/locations/global/publishers/google/models/gemini-9-flash` not found."},
		{name: "on Vertex", path: vertex, header: "Authorization: Bearer t", body: hello},
		{name: "version 1", path: "/v1/models/gemini-3.5-flash:generateContent", body: hello},
	})
}

func TestTranscodingRules(t *testing.T) {
	checks(t, []ask{
		{name: "open", body: `{`, rule: "G-3",
			message: "Invalid JSON payload received. Unexpected end of string. Expected an object key or }.\n{\n ^"},
		{name: "no value", body: `{"contents": x}`, rule: "G-3",
			message: "Invalid JSON payload received. Expected a value.\n{\"contents\": x}\n             ^"},
		{name: "more", body: `{} {}`, rule: "G-3",
			message: "Invalid JSON payload received. Parsing terminated before end of input.\n{} {}\n   ^"},
		{name: "list", body: `[]`, rule: "G-3",
			message: `Invalid JSON payload received. Unknown name "": Root element must be a message.`},
		{name: "unknown at the root", body: `{"x":1,"contents":[]}`, rule: "G-3",
			message: `Invalid JSON payload received. Unknown name "x": Cannot find field.`},
		{name: "unknown", body: `{"contents":[{"x":{}, "parts":[{"text":"a"}]}]}`, rule: "G-3", field: "contents[0]",
			message: `Invalid JSON payload received. Unknown name "x" at 'contents[0]': Cannot find field.`},
		{name: "two unknown", body: `{"contents":{"parts":{"text":"a","role":"user","y":1}}}`, rule: "G-3",
			field:   "contents.parts",
			message: "Invalid JSON payload received. Unknown name \"role\" at 'contents.parts': Cannot find field.\nInvalid JSON payload received. Unknown name \"y\" at 'contents.parts': Cannot find field."},
		{name: "signature inside the call", at: "contents[0].parts[0].functionCall.thoughtSignature",
			body: parts(`{"functionCall":{"name":"f","thoughtSignature":"aa"}}`), rule: "G-3",
			field:   "contents[0].parts[0].function_call",
			message: `Invalid JSON payload received. Unknown name "thoughtSignature" at 'contents[0].parts[0].function_call': Cannot find field.`},
		{name: "JSON Schema",
			body:    tools(`{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string","const":"x"}}}}`),
			rule:    "G-3",
			message: `Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.`},
		{name: "list of types", body: tools(`{"name":"f","parameters":{"type":["object","null"]}}`), rule: "G-3",
			message: `Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[0].parameters': Proto field is not repeating, cannot start list.`},
		{name: "no type", body: tools(`{"name":"f","parameters":{"type":"text"}}`), rule: "G-3",
			field:   "tools[0].function_declarations[0].parameters.type",
			message: `Invalid value at 'tools[0].function_declarations[0].parameters.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "text"`},
		{name: "number for text", body: parts(`{"text":1}`), rule: "G-3",
			message: `Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1`},
		{name: "object for text", body: parts(`{"text":{}}`), rule: "G-3",
			message: `Invalid JSON payload received. Unknown name "text" at 'contents[0].parts[0]': Starting an object on a scalar field.`},
		{name: "half a token", body: config(`"maxOutputTokens":0.5`), rule: "G-3",
			message: `Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), 0.5`},
		{name: "what Vertex knows", body: `{"contents":[{"parts":[{"text":"a"}]}],"labels":{"a":"b"}}`, rule: "G-3",
			message: `Invalid JSON payload received. Unknown name "labels": Cannot find field.`},
		{name: "on Vertex", path: vertex, body: `{"contents":[{"parts":[{"text":"a"}]}],"labels":{"a":"b"}}`},
		{name: "other spellings",
			body: `{"contents":{"parts":{"text":"a"}},"system_instruction":{"parts":{"text":"s"}},"tools":{"function_declarations":{"name":"f","parameters_json_schema":{"$schema":"x"}}},"generation_config":{"thinking_config":{"thinking_level":"low"},"max_output_tokens":"5"},"safetySettings":null}`},
		{name: "two things", at: "contents[0].parts[0]", body: parts(`{"text":"a","functionCall":{"name":"f"}}`),
			rule: "G-8", field: "contents[0].parts[0]",
			message: `Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'functionCall'`},
		{name: "one and null", body: parts(`{"text":"a","functionCall":null}`)},
		{name: "response a text", at: "contents[0].parts[0]",
			body: parts(`{"functionResponse":{"name":"f","response":"str"}}`), rule: "G-9",
			field:   "contents[0].parts[0].function_response.response",
			message: `Invalid value at 'contents[0].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "str"`},
		{name: "response a list", body: parts(`{"functionResponse":{"name":"f","response":[]}}`), rule: "G-9",
			field:   "contents[0].parts[0].function_response",
			message: `Invalid JSON payload received. Unknown name "response" at 'contents[0].parts[0].function_response': Proto field is not repeating, cannot start list.`},
		{name: "not base64", at: "contents[0].parts[0].thoughtSignature",
			body: parts(`{"text":"a","thoughtSignature":"a*b="}`), rule: "G-19",
			field:   "contents[0].parts[0].thought_signature",
			message: `Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for "a*b="`},
		{name: "padding more", body: parts(`{"text":"a","thoughtSignature":"YWE=="}`), rule: "G-19",
			message: `Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for "YWE=="`},
		{name: "two in one", body: parts(`{"text":"a","thoughtSignature":"YWE=YWE="}`), rule: "G-19",
			message: `Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for "YWE=YWE="`},
		{name: "the other alphabet", body: parts(`{"text":"a","thoughtSignature":"-_-_"}`)},
	})
}

func TestValueRules(t *testing.T) {
	checks(t, []ask{
		{name: "no contents", body: `{}`, rule: "G-4",
			message: "* GenerateContentRequest.contents: contents is not specified\n"},
		{name: "empty contents", body: `{"contents":[]}`, rule: "G-4", level: rule.Lenient,
			message: "* GenerateContentRequest.contents: contents is not specified\n"},
		{name: "no body", body: ``, rule: "G-4",
			message: "* GenerateContentRequest.contents: contents is not specified\n"},
		{name: "no parts", at: "contents[0].parts contents[1].parts",
			body: `{"contents":[{"parts":[]},{"role":"model"},{"parts":[{"text":"a"}]}]}`, rule: "G-6",
			message: "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n"},
		{name: "no parts on Vertex", path: vertex, body: `{"contents":[{}]}`, rule: "G-6",
			message: "Unable to submit request because it must include at least one parts field, which describes the prompt input.…"},
		{name: "empty part", at: "contents[0].parts[1]", body: parts(`{"text":"a"},{}`), rule: "G-7",
			message: "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized field\n"},
		{name: "only a mark", at: "contents[0].parts[0]", body: parts(`{"thought":true}`), rule: "G-7",
			message: "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field\n"},
		{name: "empty text alone", body: parts(`{"text":""}`)},
		{name: "only a signature", body: parts(`{"thoughtSignature":"YWE="}`)},
		{name: "response without name", body: parts(`{"functionResponse":{"response":{}}}`), rule: "G-10",
			message: "* GenerateContentRequest.contents[0].parts[0].function_response.name: Name cannot be empty.\n"},
		{name: "name", body: tools(`{"name":"ok"},{"name":"1bad"}`), rule: "G-11",
			message: "* GenerateContentRequest.tools[0].function_declarations[1].name: Invalid function name. Must start with a letter or an underscore.…"},
		{name: "long name", body: tools(`{"name":"` + strings.Repeat("n", 129) + `"}`), rule: "G-11",
			message: "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name.…"},
		{name: "names", body: tools(`{"name":"_a.b:c-9"},{"name":"` + strings.Repeat("n", 128) + `"}`)},
		{name: "twice", body: tools(`{"name":"f"},{"name":"g"},{"name":"f"}`), rule: "G-11",
			message: "Duplicate function declaration found: f"},
		{name: "two schemas", body: tools(`{"name":"f","parameters":{"type":"OBJECT"},"parametersJsonSchema":{}}`),
			rule:    "G-12",
			message: "* GenerateContentRequest.tools[0].function_declarations[0]: only one of parameters and parameters_json_schema can be set.\n"},
		{name: "two schemas, live", level: rule.Live,
			body: tools(`{"name":"f","parameters":{"type":"OBJECT"},"parametersJsonSchema":{}}`)},
		{name: "required and not there",
			body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"string"}},"required":["a","b"]}}`), rule: "G-12", message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters.required[1]: property is not defined\n"},
		{name: "required and there",
			body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"string"}},"required":["a"]}}`)},
		{name: "no JSON Schema",
			body:    tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"text"}}}}`),
			rule:    "G-12",
			message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters_json_schema: must be a valid JSON Schema.\n"},
		{name: "a JSON Schema",
			body: tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"$ref":"#/$defs/c"}},"$defs":{"c":{"const":1}}}}`)},
		{name: "no items",
			body:    tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"array"}}}}`),
			rule:    "G-12",
			message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].items: missing field.\n"},
		{name: "properties of a text",
			body: tools(`{"name":"f","parameters":{"type":6,"properties":{"a":{"type":"string","properties":{"b":{"type":"string"}}}}}}`), rule: "G-12", message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].properties: only allowed for OBJECT type\n"},
		{name: "an enum of numbers",
			body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"integer","enum":["1"]}}}}`), rule: "G-12", message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].enum: only allowed for STRING type\n"},
		{name: "an enum with an empty text",
			body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"string","enum":["x",""]}}}}`), rule: "G-12", message: "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].enum[1]: cannot be empty\n"},
		{name: "an enum of texts",
			body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","format":"enum","enum":["1"]}}}}`)},
		{name: "a reference to nothing",
			body: tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"anyOf":[{},{"$ref":"#/$defs/A"}]}}}}`), rule: "G-12", message: "reference to undefined schema at properties.a.anyOf.1"},
		{name: "an object of nothing", body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{}}}`)},
		{name: "an array of texts",
			body: tools(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{"type":"STRING"}}}}}`)},
		{name: "a GIF", path: older, body: parts(`{"inlineData":{"mimeType":"image/gif","data":"R0lG"}}`), rule: "G-36",
			message: "Unsupported MIME type: image/gif"},
		{name: "a GIF for a later model", body: parts(`{"inlineData":{"mimeType":"image/gif","data":"R0lG"}}`)},
		{name: "a type of one part", body: parts(`{"inline_data":{"mime_type":"png","data":"R0lG"}}`), rule: "G-36",
			message: "Unsupported MIME type: png"},
		{name: "a bitmap of the files", rule: "G-36", message: "Request contains an invalid argument.",
			body: parts(`{"fileData":{"mimeType":"image/bmp","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/a"}}`)},
		{name: "a vector image of a function", at: "contents[0].parts[0].functionResponse.parts[0].inlineData", rule: "G-36",
			body:    parts(`{"functionResponse":{"name":"f","response":{},"parts":[{"inlineData":{"mimeType":"image/svg+xml","data":"R0lG"}}]}}`),
			message: "Unsupported MIME type: image/svg+xml"},
		{name: "a PNG", body: parts(`{"inlineData":{"mimeType":"image/png","data":"R0lG"}}`)},
		{name: "a file of its own type",
			body: parts(`{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/a"}}`)},
	})
}

func TestSettingRules(t *testing.T) {
	long := `{"contents":[{"parts":[{"text":"` + strings.Repeat("word ", 900_000) + `"}]}]}`
	checks(t, []ask{
		{name: "both", body: config(`"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":5}`), rule: "G-23",
			message: "You can only set only one of thinking budget and thinking level."},
		{name: "budget", body: config(`"thinkingConfig":{"thinkingBudget":5}`)},
		{name: "level", path: strings.Replace(dev, "3.5-flash", "3.1-pro-preview", 1),
			body: config(`"thinkingConfig":{"thinkingLevel":"minimal"}`), rule: "G-24",
			message: "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level."},
		{name: "level of which nothing is known", path: strings.Replace(dev, "3.5-flash", "3-pro-preview", 1),
			body: config(`"thinkingConfig":{"thinkingLevel":"MEDIUM"}`)},
		{name: "level before 3", path: older, body: config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), rule: "G-24",
			message: "Thinking level is not supported for this model."},
		{name: "known level", body: config(`"thinkingConfig":{"thinkingLevel":"minimal"}`)},
		{name: "budget 0", path: strings.Replace(dev, "3.5-flash", "3-pro-preview", 1),
			body: config(`"thinkingConfig":{"thinkingBudget":0}`), rule: "G-25",
			message: "Budget 0 is invalid. This model only works in thinking mode."},
		{name: "budget 0 elsewhere", path: older, body: config(`"thinkingConfig":{"thinkingBudget":0}`)},
		{name: "circulation", path: older,
			body: `{"contents":[{"parts":[{"text":"a"}]}],"toolConfig":{"includeServerSideToolInvocations":true}}`,
			rule: "G-26", message: "Tool call context circulation is not enabled for models/gemini-2.5-flash"},
		{name: "circulation from 3 on",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"toolConfig":{"includeServerSideToolInvocations":true}}`},
		{name: "mixed tools",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]},{"google_search":{}}]}`,
			rule: "G-37", message: "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."},
		{name: "mixed tools that circulate",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]},{"google_search":{}}],"toolConfig":{"includeServerSideToolInvocations":true}}`},
		{name: "mixed tools on Vertex", path: vertex,
			body: `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]},{"google_search":{}}]}`},
		{name: "functions beside the computer",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]},{"computerUse":{}}]}`},
		{name: "mode without tools",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"toolConfig":{"functionCallingConfig":{"mode":"any"}}}`,
			rule: "G-27", message: "Function calling config is set without function_declarations."},
		{name: "mode with tools",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"tools":{"functionDeclarations":{"name":"f"}},"toolConfig":{"functionCallingConfig":{"mode":"any"}}}`},
		{name: "hot", body: config(`"temperature":2.1`), rule: "G-28",
			message: "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n"},
		{name: "hot on Vertex", path: vertex, body: config(`"temperature":1000.0`), rule: "G-28",
			message: "Unable to submit request because it has a temperature value of 1000 but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again."},
		{name: "warm", body: config(`"temperature":2`)},
		{name: "six stops", body: config(`"stopSequences":["a","b","c","d","e","f"]`), rule: "G-28",
			message: "* GenerateContentRequest.generation_config.stop_sequences: the number of stop_sequences must not exceed 5\n"},
		{name: "six stops on Vertex", path: vertex, body: config(`"stop_sequences":["a","b","c","d","e","f"]`),
			rule:    "G-28",
			message: "Unable to submit request because it has a stopSequences value of 6 but the supported range is from 1 (inclusive) to 6 (exclusive). Update the value and try again."},
		{name: "five stops", body: config(`"stopSequences":["a","b","c","d","e"]`)},
		{name: "probabilities", body: config(`"responseLogprobs":true,"logprobs":3`), rule: "G-34",
			message: "Logprobs is not enabled for this model"},
		{name: "a penalty", path: older, body: config(`"presencePenalty":0.2`), rule: "G-34",
			message: "Penalty is not enabled for models/gemini-2.5-flash"},
		{name: "a penalty of 0", path: older, body: config(`"frequencyPenalty":0.0`)},
		{name: "JSON beside functions", path: older, rule: "G-38",
			body:    `{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],"generationConfig":{"responseMimeType":"application/json"}}`,
			message: "Function calling with a response mime type: 'application/json' is unsupported"},
		{name: "JSON beside functions from 3 on",
			body: `{"contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],"generationConfig":{"responseMimeType":"application/json"}}`},
		{name: "no probabilities", body: config(`"responseLogprobs":false`)},
		{name: "probabilities on Vertex", path: vertex, body: config(`"responseLogprobs":true`)},
		{name: "a cache and tools",
			body: `{"cachedContent":"cachedContents/a","contents":[{"parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`, rule: "G-35", message: "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. Proposed fix: move those values to CachedContent from GenerateContent request."},
		{name: "a cache and an instruction on Vertex", path: vertex,
			body: `{"cached_content":"cachedContents/a","contents":[{"role":"user","parts":[{"text":"a"}]}],"system_instruction":{"parts":[{"text":"b"}]}}`, rule: "G-35", message: "Tool config, tools and system instruction should not be set in the request when using cached content."},
		{name: "a cache alone",
			body: `{"cachedContent":"cachedContents/a","contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"temperature":0}}`},
		{name: "a schema of prose", body: config(`"responseSchema":{"type":"OBJECT"}`), rule: "G-33",
			message: "Response_schema with a response mime type 'text/plain' is unsupported"},
		{name: "a JSON Schema of prose",
			body: config(`"response_json_schema":{"type":"object"},"responseMimeType":"text/plain"`), rule: "G-33",
			message: "Response_schema with a response mime type 'text/plain' is unsupported"},
		{name: "a schema of prose, live", level: rule.Live, body: config(`"responseSchema":{"type":"OBJECT"}`)},
		{name: "a schema of JSON",
			body: config(`"responseSchema":{"type":"OBJECT"},"responseMimeType":"application/json"`)},
		{name: "a schema of a word",
			body: config(`"responseSchema":{"type":"STRING","enum":["a"]},"responseMimeType":"text/x.enum"`)},
		{name: "long", body: long, rule: "G-29",
			message: "The input token count (1125000) exceeds the maximum number of tokens allowed (1048576)."},
		{name: "a big image",
			body: parts(`{"inlineData":{"mimeType":"image/png","data":"` + strings.Repeat("AAAA", 1_500_000) + `"}}`)},
	})
}

// TestReject holds the envelopes (reference §4).
func TestReject(t *testing.T) {
	a := ask{body: `{"x":1}`, path: strings.Replace(dev, "generateContent", "streamGenerateContent", 1)}
	for path, list := range map[string]bool{a.path: true, a.path + "?alt=sse": false, dev: false} {
		a.path = path
		status, header, body := Provider{}.Reject(Parse(a.request(), []byte(a.body)).Check(rule.Env{}))
		if status != 400 || header.Get("Content-Type") != "application/json; charset=UTF-8" || !json.Valid(body) ||
			(body[0] == '[') != list {
			t.Errorf("%s: status %d, %v: %s", path, status, header, body)
		}
	}
	_, _, body := Provider{}.Reject(Parse(ask{header: "x-goog-api-key: invalid"}.request(), nil).Check(rule.Env{}))
	const want = `{
  "error": {
    "code": 400,
    "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT",
    "details": [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {
          "service": "generativelanguage.googleapis.com"
        }
      },
      {
        "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
        "locale": "en-US",
        "message": "API key not valid. Please pass a valid API key."
      }
    ]
  }
}
`
	if string(body) != want {
		t.Errorf("got %s", body)
	}
}

// TestEveryRuleIsTold holds that each rule says what it demands, and that none
// that must not be enforced is missing a reason.
func TestEveryRuleIsTold(t *testing.T) {
	for _, info := range append(Rules(), texts.Accepted...) {
		if info.ID == "" || info.Demand == "" || info.Source == "" || info.Confidence == "" {
			t.Errorf("%+v", info)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, body := range []string{hello, `{`, `[[[[`,
		`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"}]}]}`,
		tools(`{"name":"f","parameters":{"type":3,"anyOf":[{"items":{}}]}}`),
		`{"generateContentRequest":{"contents":1}}`, "\"\\", `{"a":1e999,"b":"\ud800"}`} {
		for _, path := range []string{dev, older, vertex, strings.Replace(dev, unary, count, 1)} {
			f.Add(path, "made-up", []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, path, key string, body []byte) {
		r := ask{}.request()
		r.URL.Path = path
		r.Header.Set("x-goog-api-key", key)
		for _, foreign := range []bool{true, false} {
			got := Parse(r, body).Check(rule.Env{Key: testKey, ForeignTokens: foreign})
			if got == nil {
				_, _ = Parse(r, body).Turn()
				_ = Parse(r, body).CountTokens()
				continue
			}
			if _, _, doc := (Provider{}).Reject(got); !json.Valid(doc) || got.Rule == "" || got.Status < 400 {
				t.Fatalf("%+v: %s", got, doc)
			}
		}
	})
}

// A refusal stays short, however many faults a request has.
func TestManyFaultsAreBounded(t *testing.T) {
	for name, content := range map[string]string{
		"empty parts": `{"parts":[{}]}`, "no parts": `{}`, "an unknown name": `{"role":"user","parts":[{"foo":1}]}`,
		"another type": `1`,
	} {
		got := map[int]int{}
		for _, n := range []int{2, maxFaults, 20 * maxFaults} {
			body := `{"contents":[` + strings.TrimSuffix(strings.Repeat(content+",", n), ",") + `]}`
			r := httptest.NewRequest(http.MethodPost, "/v1beta/models/gemini-3.5-flash:generateContent",
				strings.NewReader(body))
			r.Header.Set("X-Goog-Api-Key", "fake")
			refusal := Parse(r, []byte(body)).Check(rule.Env{Level: rule.Strict})
			if refusal == nil || refusal.Status != http.StatusBadRequest {
				t.Fatalf("%s: %v", name, refusal)
			}
			got[n] = strings.Count(strings.TrimSpace(refusal.Message), "\n") + 1
		}
		if got[2] != 2 || got[maxFaults] != maxFaults || got[20*maxFaults] != maxFaults {
			t.Errorf("%s: faults that are named, by how many there are: %v", name, got)
		}
	}
}
