package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const flash = "gemini-3-flash-preview"

func entry(tb testing.TB, model string) catalog.Entry {
	tb.Helper()
	m, err := catalog.Unlisted(model)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func render(tb testing.TB, req *provider.Request) string {
	tb.Helper()
	body, err := providertest.RenderBody(Codec{}, req, entry(tb, req.Model))
	if err != nil {
		tb.Fatal(err)
	}
	return string(body)
}

func TestRenderGolden(t *testing.T) {
	for _, c := range providertest.Conversations() {
		t.Run(c.Name, func(t *testing.T) {
			body := render(t, &provider.Request{Model: flash, System: c.System, Messages: c.Messages, Tools: providertest.Tools()})
			if !json.Valid([]byte(body)) {
				t.Fatalf("not JSON: %s", body)
			}
			providertest.Golden(t, c.Name+".json", []byte(body))
		})
	}
}

func TestRenderParameters(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		name string
		req  provider.Request
		want string
		not  string
	}{
		{"provider's level", provider.Request{Model: flash}, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents"`, "thinkingLevel"},
		{"level (G-23)", provider.Request{Model: flash, Effort: "low"}, `"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}`, "thinkingBudget"},
		{"none is the lowest", provider.Request{Model: flash, Effort: "none"}, `"thinkingConfig":{"thinkingLevel":"MINIMAL"}`, ""},
		{"all", provider.Request{Model: flash, MaxOutputTokens: 9, Temperature: &half, StopSequences: []string{"x"}}, `"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"stopSequences":["x"],"thinkingConfig"`, ""},
		{"no control", provider.Request{Model: "gemini-2.5-flash"}, `{"contents":[`, "generationConfig"},
		{"any", provider.Request{Model: flash, ToolChoice: "any", Tools: providertest.Tools()}, `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`, ""},
		{"by name", provider.Request{Model: flash, ToolChoice: "list_dir", Tools: providertest.Tools()}, `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["list_dir"]}}`, ""},
		{"choice without tools (G-27)", provider.Request{Model: flash, ToolChoice: "none"}, `"contents"`, "toolConfig"},
	} {
		c.req.Messages = []transcript.Message{transcript.User("x")}
		body := render(t, &c.req)
		if !strings.Contains(body, c.want) || c.not != "" && strings.Contains(body, c.not) {
			t.Errorf("%s: %s", c.name, body)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	user := transcript.User("x")
	for name, c := range map[string]struct {
		req  provider.Request
		want string
	}{
		"level (G-24)":            {provider.Request{Model: "gemini-3.1-pro-preview", Effort: "none"}, `effort: "none" is not offered by gemini-3.1-pro-preview`},
		"stops":                   {provider.Request{StopSequences: make([]string, 6)}, "stop sequences: 6 are more"},
		"tool name (G-11)":        {provider.Request{Tools: []transcript.ToolDef{{Name: "1bad"}}}, `tool "1bad": gemini`},
		"nothing (G-4)":           {provider.Request{Messages: []transcript.Message{transcript.System("x")}}, "messages: there is nothing"},
		"empty user (G-7)":        {provider.Request{Messages: []transcript.Message{transcript.User("")}}, "messages[0]: it has no text"},
		"model first (G-13)":      {provider.Request{Messages: []transcript.Message{transcript.Assistant("", transcript.Text("a")), user}}, "messages[0]: the conversation must start"},
		"model last (G-16)":       {provider.Request{Messages: []transcript.Message{user, transcript.Assistant("", transcript.Text("a"))}}, "messages[1]: the conversation must end"},
		"count (G-15)":            {provider.Request{Messages: []transcript.Message{user, transcript.Assistant("", transcript.ToolUse("a", "t", nil)), user}}, `messages[1]: tool call "a" has no result`},
		"response without (G-14)": {provider.Request{Messages: []transcript.Message{user, transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"})}}, `messages[1]: tool call "a" is answered here`},
	} {
		if c.req.Model == "" {
			c.req.Model = flash
		}
		if c.req.Messages == nil {
			c.req.Messages = []transcript.Message{user}
		}
		_, err := providertest.RenderBody(Codec{}, &c.req, entry(t, c.req.Model))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestToolNamesWithDots(t *testing.T) {
	if body := render(t, &provider.Request{
		Model: flash, Tools: []transcript.ToolDef{{Name: "ns.tool:x"}}, Messages: []transcript.Message{transcript.User("x")},
	}); !strings.Contains(body, `"functionDeclarations":[{"name":"ns.tool:x"}]`) {
		t.Error(body)
	}
}

func native(model string, blocks ...transcript.Block) []transcript.Block {
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

func withRaw(b transcript.Block, raw string) transcript.Block {
	b.Raw = []byte(raw)
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
	body := render(t, &provider.Request{Model: model, Messages: append(messages, transcript.User("end"))})
	_, rest, _ := strings.Cut(body, `{"role":"model","parts":[`)
	reply, rest, _ = strings.Cut(rest, `]},{"role":"user","parts":[`)
	responses, _, _ = strings.Cut(rest, `]}`)
	if strings.Contains(responses, "ignature") {
		t.Errorf("a response is signed: %s", responses)
	}
	return reply, responses
}

func TestRenderReply(t *testing.T) {
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
		"fields":                  {flash, native(flash, signed(f, sig), g), `{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},"thoughtSignature":"EjQK+/8="},{"functionCall":{"id":"b","name":"g","args":{}}}`, "ab"},
		"raw, no id (G-32, D-24)": {flash, native(flash, withRaw(signed(f, sig), rawCall), withRaw(g, noID)), rawCall + "," + noID, "a"},
		"snake case":              {flash, native(flash, withRaw(signed(f, sig), `{"function_call":{},"thought_signature":"EjQK+/8="}`)), `{"function_call":{},"thought_signature":"EjQK+/8="}`, ""},
		"unsigned (G-17)":         {flash, native(flash, withRaw(f, `{"functionCall":{"name":"f","args":{ "x":1.0}, "id":"a"}}`), g), `{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},` + skip + `},{"functionCall":{"id":"b","name":"g","args":{}}}`, "ab"},
		"unsigned, not demanded":  {"gemini-2.5-pro", native("gemini-2.5-pro", withRaw(f, rawCall)), rawCall, "a"},
		"foreign (missing-signature, foreign-token)": {flash, []transcript.Block{{Type: transcript.BlockToolUse, ID: "a", Name: "f", Origin: &transcript.Origin{Provider: "anthropic"}, Meta: &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: sig}, Raw: []byte(`{}`)}}, `{"functionCall":{"id":"a","name":"f","args":{}},` + skip + `}`, "a"},
		"another model's (G-18)":                     {flash, native("gemini-3-pro-preview", withRaw(signed(f, sig), rawCall)), `{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},` + skip + `}`, "a"},
		"no base64 (G-19, malformed-token)":          {flash, native(flash, withRaw(signed(f, "not base64!"), rawCall)), `{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},` + skip + `}`, "a"},
		"signed empty text (D-21)":                   {flash, native(flash, transcript.Text("a"), transcript.Text(""), signed(transcript.Text(""), sig)), `{"text":"a"},{"text":"","thoughtSignature":"EjQK+/8="}`, ""},
		"thoughts stay (D-23)":                       {flash, native(flash, withRaw(transcript.Reasoning("t", nil), `{"text":"t","thought":true}`), transcript.Text("a")), `{"text":"a"}`, ""},
		"signed thought (R23)":                       {flash, native(flash, signed(transcript.Reasoning("t", nil), sig), transcript.Text("a")), `{"text":"t","thought":true,"thoughtSignature":"EjQK+/8="},{"text":"a"}`, ""},
		"opaque":                                     {flash, native(flash, opaque, transcript.Text("a")), code + `,{"text":"a"}`, ""},
		"foreign opaque (foreign-block)":             {flash, []transcript.Block{opaque, transcript.Text("a")}, `{"text":"a"}`, ""},
		"broken arguments (invalid-arguments)":       {flash, native(flash, signed(transcript.ToolUse("a", "f", []byte(`{"x`)), sig)), `{"functionCall":{"id":"a","name":"f","args":{"_raw":"{\"x"}},"thoughtSignature":"EjQK+/8="}`, "a"},
		"odd id, raw with it (D-30)":                 {flash, native(flash, withRaw(signed(transcript.ToolUse("a.b", "f", nil), sig), `{"functionCall":{"name":"f","id":"a.b"}}`)), `{"functionCall":{"id":"mk_e74uovg64hafgcdmzvsnvitv","name":"f","args":{}},"thoughtSignature":"EjQK+/8="}`, "mk_e74uovg64hafgcdmzvsnvitv"},
		"odd made-up id, raw without":                {flash, native(flash, withRaw(signed(transcript.ToolUse("a.b", "g", nil), sig), noID)), noID, ""},
		"text before a signed call":                  {flash, native(flash, transcript.Text("I read."), signed(f, sig)), `{"text":"I read."},{"functionCall":{"id":"a","name":"f","args":{ "x":1.0}},"thoughtSignature":"EjQK+/8="}`, "a"},
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
func TestRenderJoinsReplies(t *testing.T) {
	got, _ := parts(t, flash,
		native(flash, transcript.Text("a")),
		native(flash, transcript.Reasoning("only thought", nil)),
		native(flash, signed(transcript.ToolUse("a", "f", nil), "EjQK")))
	if want := `{"text":"a"},{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"EjQK"}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestRenderProperties(t *testing.T) {
	m := entry(t, flash)
	rapid.Check(t, func(t *rapid.T) {
		req := &provider.Request{Model: m.Model, Messages: providertest.Messages(t), Tools: providertest.Tools()}
		body, err := providertest.RenderBody(Codec{}, req, m)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := providertest.RenderBody(Codec{}, req, m); !bytes.Equal(body, again) {
			t.Fatal("two renderings differ")
		}
		if !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
		for _, msg := range req.Messages {
			for c := range msg.ToolCalls() {
				if jsontok.IsObject(c.Args) && !bytes.Contains(body, append([]byte(`"args":`), c.Args...)) {
					t.Fatalf("arguments %s are not in %s", c.Args, body)
				}
			}
		}
		checkContents(t, body)
		for n := len(req.Messages) - 1; n > 0; n-- {
			if req.Messages[n-1].Role == transcript.RoleAssistant {
				continue
			}
			part := *req
			part.Messages = req.Messages[:n]
			prefix, err := providertest.RenderBody(Codec{}, &part, m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(body, bytes.TrimSuffix(prefix, []byte("]}"))) {
				t.Fatalf("the first %d messages changed:\n%s\n%s", n, prefix, body)
			}
		}
	})
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

func TestRenderAnything(t *testing.T) {
	m := entry(t, flash)
	rapid.Check(t, func(t *rapid.T) {
		body, err := providertest.RenderBody(Codec{}, &provider.Request{Model: m.Model, Messages: providertest.Anything(t)}, m)
		var (
			pair    *provider.PairError
			message *provider.MessageError
			request *provider.RequestError
		)
		if err != nil && !errors.As(err, &pair) && !errors.As(err, &message) && !errors.As(err, &request) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
	})
}
