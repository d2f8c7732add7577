package gemini

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// suite is this codec in the tests that all codecs share.
var suite = providertest.CodecSuite{
	Codec: Codec{}, Model: "gemini-3-flash-preview", StableModel: "gemini-3-flash-preview", Arguments: "args",
	Parameters: parameterCases, Refusals: refusalCases, HealthURI: "/v1beta/models?pageSize=1",
	CheckBody: checkContents,
	Path:      "/v1beta/models/gemini-3-flash-preview:streamGenerateContent", Query: "alt=sse",
	UnaryPath:  "/v1beta/models/gemini-3-flash-preview:generateContent",
	Header:     map[string]string{"X-Goog-Api-Key": providertest.Canary, "Content-Type": "application/json", "Accept": "text/event-stream"},
	Head:       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hel\"}],\"role\":\"model\"},\"index\":0}],\"responseId\":\"r1\"}\r\n\r\n",
	Tail:       "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5},\"modelVersion\":\"gemini-3-flash-preview\",\"responseId\":\"r1\"}\r\n\r\n",
	Unary:      `{"candidates":[{"content":{"parts":[{"text":"hello"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"gemini-3-flash-preview","responseId":"r1"}`,
	Failed:     "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded. " + providertest.Canary + "\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n",
	FailedKind: provider.Overloaded,
}

func TestCodec(t *testing.T) { suite.Run(t) }

var half = 0.5

// looseSchema is a schema that a strict mode refuses, in a spelling that a JSON
// library would change.
const looseSchema = `{"type":"object", "z":1.0}`

var parameterCases = map[string]providertest.ParameterCase{
	"provider's level":            {Request: provider.Request{Model: flash}, Want: `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents"`, Not: "thinkingLevel"},
	"level (G-23)":                {Request: provider.Request{Model: flash, Effort: "low"}, Want: `"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}`, Not: "thinkingBudget"},
	"none is the lowest":          {Request: provider.Request{Model: flash, Effort: "none"}, Want: `"thinkingConfig":{"thinkingLevel":"MINIMAL"}`},
	"all":                         {Request: provider.Request{Model: flash, MaxOutputTokens: 9, Temperature: &half, StopSequences: []string{"x"}}, Want: `"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"stopSequences":["x"],"thinkingConfig"`},
	"no control":                  {Request: provider.Request{Model: "gemini-2.5-flash"}, Want: `{"contents":[`, Not: "generationConfig"},
	"any":                         {Request: provider.Request{Model: flash, ToolChoice: "any", Tools: providertest.Tools()}, Want: `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`},
	"by name":                     {Request: provider.Request{Model: flash, ToolChoice: "list_dir", Tools: providertest.Tools()}, Want: `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["list_dir"]}}`},
	"choice without tools (G-27)": {Request: provider.Request{Model: flash, ToolChoice: "none"}, Want: `"contents"`, Not: "toolConfig"},
	"output schema":               {Request: provider.Request{OutputSchema: transcript.RawJSON(looseSchema)}, Want: `"responseMimeType":"application/json","responseJsonSchema":` + looseSchema},
}

var refusalCases = map[string]providertest.RefusalCase{
	"level (G-24)":            {Request: provider.Request{Model: "gemini-3.1-pro-preview", Effort: "none"}, Want: `effort: "none" is not offered by gemini-3.1-pro-preview`},
	"stops":                   {Request: provider.Request{StopSequences: make([]string, 6)}, Want: "stop sequences: 6 are more"},
	"tool name (G-11)":        {Request: provider.Request{Tools: []transcript.ToolDef{{Name: "1bad"}}}, Want: `tool "1bad": gemini`},
	"empty user (G-7)":        {Request: provider.Request{Messages: []transcript.Message{transcript.User("")}}, Want: "messages[0]: it has no text"},
	"model first (G-13)":      {Request: provider.Request{Messages: []transcript.Message{transcript.Assistant("", transcript.Text("a")), transcript.User("x")}}, Want: "messages[0]: the conversation must start"},
	"model last (G-16)":       {Request: provider.Request{Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.Text("a"))}}, Want: "messages[1]: the conversation must end"},
	"count (G-15)":            {Request: provider.Request{Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.ToolUse("a", "t", nil)), transcript.User("x")}}, Want: `messages[1]: tool call "a" has no result`},
	"response without (G-14)": {Request: provider.Request{Messages: []transcript.Message{transcript.User("x"), transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"})}}, Want: `messages[1]: tool call "a" is answered here`},
}
