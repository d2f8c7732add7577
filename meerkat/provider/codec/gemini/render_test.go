package gemini

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const flash = "gemini-3-flash-preview"

func TestToolNamesWithDots(t *testing.T) {
	if body := suite.Render(t, provider.Request{
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
	body := suite.Render(t, provider.Request{Model: model, Messages: append(messages, transcript.User("end"))})
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
