package providertest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// geminiSuite is this codec in the tests that all codecs share.
var geminiSuite = codecSuite{
	Codec: gemini.Codec{}, Model: "gemini-3-flash-preview", StableModel: "gemini-3-flash-preview", Arguments: "args",
	Parameters: geminiParameterCases, Refusals: geminiRefusalCases, HealthURI: "/v1beta/models?pageSize=1",
	CheckBody: checkContents,
	Path:      "/v1beta/models/gemini-3-flash-preview:streamGenerateContent", Query: "alt=sse",
	UnaryPath: "/v1beta/models/gemini-3-flash-preview:generateContent",
	Header: map[string]string{
		"X-Goog-Api-Key": canaryKey, "Content-Type": "application/json", "Accept": "text/event-stream",
	},
	Head:  "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hel\"}],\"role\":\"model\"},\"index\":0}],\"responseId\":\"r1\"}\r\n\r\n",
	Tail:  "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5},\"modelVersion\":\"gemini-3-flash-preview\",\"responseId\":\"r1\"}\r\n\r\n",
	Unary: `{"candidates":[{"content":{"parts":[{"text":"hello"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"gemini-3-flash-preview","responseId":"r1"}`,
	Failed: "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded. " + canaryKey +
		"\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n",
	FailedKind: provider.Overloaded,
}

var geminiParameterCases = map[string]parameterCase{
	"provider's level": {
		Request: provider.Request{Model: flash},
		Want:    `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents"`, Not: "thinkingLevel",
	},
	"level (G-23)": {
		Request: provider.Request{Model: flash, Effort: "low"},
		Want:    `"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}`, Not: "thinkingBudget",
	},
	"none is the lowest": {
		Request: provider.Request{Model: flash, Effort: "none"}, Want: `"thinkingConfig":{"thinkingLevel":"MINIMAL"}`,
	},
	"all": {
		Request: provider.Request{Model: flash, MaxOutputTokens: 9, Temperature: &half, StopSequences: []string{"x"}},
		Want:    `"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"stopSequences":["x"],"thinkingConfig"`,
	},
	"no control": {
		Request: provider.Request{Model: "gemini-2.5-flash"}, Want: `{"contents":[`, Not: "generationConfig",
	},
	"any": {
		Request: provider.Request{Model: flash, ToolChoice: "any", Tools: toolDefs()},
		Want:    `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
	},
	"by name": {
		Request: provider.Request{Model: flash, ToolChoice: "list_dir", Tools: toolDefs()},
		Want:    `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["list_dir"]}}`,
	},
	"choice without tools (G-27)": {
		Request: provider.Request{Model: flash, ToolChoice: "none"}, Want: `"contents"`, Not: "toolConfig",
	},
	"output schema": {
		Request: provider.Request{OutputSchema: transcript.RawJSON(looseSchema)},
		Want:    `"responseMimeType":"application/json","responseJsonSchema":` + looseSchema,
	},
}

var geminiRefusalCases = map[string]refusalCase{
	"level (G-24)": {
		Request: provider.Request{Model: "gemini-3.1-pro-preview", Effort: "none"},
		Want:    `effort: "none" is not offered by gemini-3.1-pro-preview`,
	},
	"stops": {
		Request: provider.Request{StopSequences: make([]string, 6)}, Want: "stop sequences: 6 are more",
	},
	"tool name (G-11)": {
		Request: provider.Request{Tools: []transcript.ToolDef{{Name: "1bad"}}}, Want: `tool "1bad": gemini`,
	},
	"empty user (G-7)": {
		Request: provider.Request{Messages: []transcript.Message{transcript.User("")}},
		Want:    "messages[0]: it has no text",
	},
	"model first (G-13)": {
		Request: provider.Request{
			Messages: []transcript.Message{transcript.Assistant("", transcript.Text("a")), transcript.User("x")},
		},
		Want: "messages[0]: the conversation must start",
	},
	"model last (G-16)": {
		Request: provider.Request{
			Messages: []transcript.Message{transcript.User("x"), transcript.Assistant("", transcript.Text("a"))},
		},
		Want: "messages[1]: the conversation must end",
	},
	"count (G-15)": {
		Request: provider.Request{
			Messages: []transcript.Message{
				transcript.User("x"), transcript.Assistant("", transcript.ToolUse("a", "t", nil)),
				transcript.User("x"),
			},
		},
		Want: `messages[1]: tool call "a" has no result`,
	},
	"response without (G-14)": {
		Request: provider.Request{
			Messages: []transcript.Message{
				transcript.User("x"), transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"}),
			},
		},
		Want: `messages[1]: tool call "a" is answered here`,
	},
}

const flash = "gemini-3-flash-preview"

func TestGeminiToolNamesWithDots(t *testing.T) {
	if body := geminiSuite.Render(t, provider.Request{
		Model: flash, Tools: []transcript.ToolDef{{Name: "ns.tool:x"}},
		Messages: []transcript.Message{transcript.User("x")},
	}); !strings.Contains(body, `"functionDeclarations":[{"name":"ns.tool:x"}]`) {
		t.Error(body)
	}
}

func geminiNative(model string, blocks ...transcript.Block) []transcript.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].Origin = &transcript.Origin{Provider: "gemini", API: "generateContent", Model: model, Index: i}
	}
	return blocks
}

func signed(b transcript.Block, signature string) transcript.Block {
	b.Meta = &transcript.Meta{Provider: transcript.MetaGemini, ThoughtSignature: signature}
	return b
}

// parts renders replies that follow each other, answered, and returns the
// parts of model and of the responses.
func parts(t *testing.T, model string, replies ...[]transcript.Block) (reply, responses string) {
	t.Helper()
	messages := []transcript.Message{transcript.User("x")}
	var results []transcript.ToolResult
	for _, blocks := range replies {
		m := transcript.Assistant("", blocks...)
		messages = append(messages, m)
		for c := range m.ToolCalls() {
			results = append(results, transcript.ToolResult{ToolUseID: c.ID, Content: "r"})
		}
	}
	if results != nil {
		messages = append(messages, transcript.ToolResults(results...))
	}
	body := geminiSuite.Render(t, provider.Request{Model: model, Messages: append(messages, transcript.User("end"))})
	_, rest, _ := strings.Cut(body, `{"role":"model","parts":[`)
	reply, rest, _ = strings.Cut(rest, `]},{"role":"user","parts":[`)
	responses, _, _ = strings.Cut(rest, `]}`)
	if strings.Contains(responses, "ignature") {
		t.Errorf("a response is signed: %s", responses)
	}
	return reply, responses
}

func TestGeminiRenderReply(t *testing.T) {
	const (
		sig     = "EjQK+/8="
		rawCall = `{"thoughtSignature":"EjQK+/8=","functionCall":{"name":"f","args":{ "x":1.0}, "id":"a"}}`
		noID    = `{"functionCall":{"name":"g","args":{}}}`
		skip    = `"thoughtSignature":"skip_thought_signature_validator"`
		code    = `{"executableCode":{"code":"1"},"thoughtSignature":"EjQK+/8="}`
	)
	f, g := transcript.ToolUse("a", "f", []byte(`{ "x":1.0}`)), transcript.ToolUse("b", "g", nil)
	opaque := withRaw(transcript.Block{Type: transcript.BlockOpaque, Kind: "executableCode"}, code)
	for name, c := range map[string]struct {
		model     string
		blocks    []transcript.Block
		want, ids string
	}{
		"fields": {
			flash, geminiNative(flash, signed(f, sig), g),
			`{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},"thoughtSignature":"EjQK+/8="},{"functionCall":{"id":"b","name":"g","args":{}}}`,
			"ab",
		},
		"raw, no id (G-32, D-24)": {
			flash, geminiNative(flash, withRaw(signed(f, sig), rawCall), withRaw(g, noID)), rawCall + "," + noID, "a",
		},
		"snake case": {
			flash, geminiNative(flash, withRaw(signed(f, sig), `{"function_call":{},"thought_signature":"EjQK+/8="}`)),
			`{"function_call":{},"thought_signature":"EjQK+/8="}`, "",
		},
		"unsigned (G-17)": {
			flash, geminiNative(flash, withRaw(f, `{"functionCall":{"name":"f","args":{ "x":1.0}, "id":"a"}}`), g),
			`{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},` + skip +
				`},{"functionCall":{"id":"b","name":"g","args":{}}}`,
			"ab",
		},
		"unsigned, not demanded": {
			"gemini-2.5-pro", geminiNative("gemini-2.5-pro", withRaw(f, rawCall)), rawCall, "a",
		},
		"foreign (missing-signature, foreign-token)": {
			flash,
			[]transcript.Block{{
				Type: transcript.BlockToolUse, ID: "a", Name: "f", Origin: &transcript.Origin{Provider: "anthropic"},
				Meta: &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: sig}, Raw: []byte(`{}`),
			}},
			`{"functionCall":{"id":"a","name":"f","args":{}},` + skip + `}`, "a",
		},
		"another model's (G-18)": {
			flash, geminiNative("gemini-3-pro-preview", withRaw(signed(f, sig), rawCall)),
			`{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},` + skip + `}`, "a",
		},
		"no base64 (G-19, malformed-token)": {
			flash, geminiNative(flash, withRaw(signed(f, "not base64!"), rawCall)),
			`{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},` + skip + `}`, "a",
		},
		"signed empty text (D-21)": {
			flash, geminiNative(flash, transcript.Text("a"), transcript.Text(""), signed(transcript.Text(""), sig)),
			`{"text":"a"},{"text":"","thoughtSignature":"EjQK+/8="}`, "",
		},
		"thoughts stay (D-23)": {
			flash,
			geminiNative(
				flash, withRaw(transcript.Reasoning("t", nil), `{"text":"t","thought":true}`), transcript.Text("a"),
			),
			`{"text":"a"}`, "",
		},
		"signed thought (R23)": {
			flash, geminiNative(flash, signed(transcript.Reasoning("t", nil), sig), transcript.Text("a")),
			`{"text":"t","thought":true,"thoughtSignature":"EjQK+/8="},{"text":"a"}`, "",
		},
		"opaque": {
			flash, geminiNative(flash, opaque, transcript.Text("a")), code + `,{"text":"a"}`, "",
		},
		"foreign opaque (foreign-block)": {
			flash, []transcript.Block{opaque, transcript.Text("a")}, `{"text":"a"}`, "",
		},
		"broken arguments (invalid-arguments)": {
			flash, geminiNative(flash, signed(transcript.ToolUse("a", "f", []byte(`{"x`)), sig)),
			`{"functionCall":{"id":"a","name":"f","args":{"_raw":"{\"x"}},"thoughtSignature":"EjQK+/8="}`, "a",
		},
		"odd id, raw with it (D-30)": {
			flash,
			geminiNative(flash, withRaw(
				signed(transcript.ToolUse("a.b", "f", nil), sig), `{"functionCall":{"name":"f","id":"a.b"}}`,
			)),
			`{"functionCall":{"id":"mk_e74uovg64hafgcdmzvsnvitv","name":"f","args":{}},"thoughtSignature":"EjQK+/8="}`,
			"mk_e74uovg64hafgcdmzvsnvitv",
		},
		"odd made-up id, raw without": {
			flash, geminiNative(flash, withRaw(signed(transcript.ToolUse("a.b", "g", nil), sig), noID)), noID, "",
		},
		"text before a signed call": {
			flash, geminiNative(flash, transcript.Text("I read."), signed(f, sig)),
			`{"text":"I read."},{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},"thoughtSignature":"EjQK+/8="}`,
			"a",
		},
	} {
		got, responses := parts(t, c.model, c.blocks)
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
		want := ""
		if len(c.ids) > 2 {
			want = `{"id":"` + c.ids + `"`
		} else {
			for _, id := range c.ids {
				want += `{"id":"` + string(id) + `"`
			}
		}
		var ids strings.Builder
		for _, r := range strings.SplitAfter(responses, `"functionResponse":`)[1:] {
			if id, _, _ := strings.Cut(r, ","); strings.HasPrefix(id, `{"id":`) {
				ids.WriteString(id)
			}
		}
		if ids.String() != want {
			t.Errorf("%s: responses carry %s, want %s", name, ids.String(), want)
		}
	}
}

// Replies that follow each other are one content (G-13), whose first call
// alone must be signed.
func TestGeminiRenderJoinsReplies(t *testing.T) {
	got, _ := parts(t, flash,
		geminiNative(flash, transcript.Text("a")),
		geminiNative(flash, transcript.Reasoning("only thought", nil)),
		geminiNative(flash, signed(transcript.ToolUse("a", "f", nil), "EjQK")))
	if want := `{"text":"a"},{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"EjQK"}`; got != want {
		t.Errorf("got %s", got)
	}
}

// checkContents reads a body back and holds it against the turn rules.
func checkContents(t *rapid.T, body []byte) {
	var req struct {
		Contents []struct {
			Role  string
			Parts []struct {
				FunctionCall     *struct{ ID, Name string }
				FunctionResponse *struct{ ID, Name string }
				ThoughtSignature string
			}
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	var open []string // the calls of the content before
	for i, c := range req.Contents {
		var calls, responses []string
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall.Name+p.FunctionCall.ID)
				if len(calls) == 1 && p.ThoughtSignature == "" {
					t.Fatalf("contents[%d]: the first call is unsigned (G-17): %s", i, body)
				}
			}
			if p.FunctionResponse != nil {
				responses = append(responses, p.FunctionResponse.Name+p.FunctionResponse.ID)
				if p.ThoughtSignature != "" {
					t.Fatalf("contents[%d]: a response is signed (G-21): %s", i, body)
				}
			}
		}
		if !slices.Equal(open, responses) {
			t.Fatalf("contents[%d]: calls %q, responses %q (G-15, G-32): %s", i, open, responses, body)
		}
		if open = calls; len(c.Parts) == 0 || c.Role == "model" && i > 0 && req.Contents[i-1].Role == "model" {
			t.Fatalf("contents[%d]: empty or a second model turn (G-6, G-13): %s", i, body)
		}
	}
}
