package openai

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
			body := render(t, &provider.Request{
				Model: "gpt-5.2", System: c.System, Messages: c.Messages, Tools: providertest.Tools(),
			})
			if !json.Valid([]byte(body)) {
				t.Fatalf("not JSON: %s", body)
			}
			providertest.Golden(t, c.Name+".json", []byte(body))
		})
	}
}

func TestRenderParameters(t *testing.T) {
	half := 0.5
	const stateless = `"store":false,"include":["reasoning.encrypted_content"]`
	for _, c := range []struct {
		name string
		req  provider.Request
		want string
		not  string
	}{
		{"default effort (D-19)", provider.Request{Model: "gpt-5.2", Temperature: &half}, stateless + `,"reasoning":{"effort":"medium","summary":"auto"},"input"`, "temperature"},
		{"no reasoning (O-24)", provider.Request{Model: "gpt-5.2", Effort: "none", Temperature: &half}, stateless + `,"reasoning":{"effort":"none"},"temperature":0.5`, ""},
		{"no reasoning model (O-21, O-22)", provider.Request{Model: "gpt-4.1", Temperature: &half}, `"store":false,"temperature":0.5,"input"`, "include"},
		{"output", provider.Request{Model: "gpt-5.2", MaxOutputTokens: 16, Unary: true}, `"stream":false,` + stateless + `,"reasoning":{"effort":"medium","summary":"auto"},"max_output_tokens":16`, ""},
		{"any", provider.Request{Model: "gpt-5.2", ToolChoice: "any", Tools: providertest.Tools()}, `"tool_choice":"required"`, ""},
		{"by name", provider.Request{Model: "gpt-5.2", ToolChoice: "list_dir", Tools: providertest.Tools()}, `"tool_choice":{"type":"function","name":"list_dir"}`, ""},
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
		"effort (O-23)":        {provider.Request{Effort: "max"}, `effort: "max" is not offered by gpt-5.2`},
		"small output (O-6)":   {provider.Request{MaxOutputTokens: 15}, "max output tokens: 15 is below"},
		"stops":                {provider.Request{StopSequences: []string{"x"}}, "stop sequences: the Responses API has none"},
		"tool name (O-18)":     {provider.Request{Tools: []transcript.ToolDef{{Name: "a.b"}}}, `tool "a.b": openai`},
		"choice (O-29)":        {provider.Request{ToolChoice: "x"}, `tool choice: "x" is no tool`},
		"nothing":              {provider.Request{Messages: []transcript.Message{transcript.System("x")}}, "messages: there is nothing"},
		"empty user":           {provider.Request{Messages: []transcript.Message{transcript.User("")}}, "messages[0]: it has no text"},
		"orphan call (O-10)":   {provider.Request{Messages: []transcript.Message{user, transcript.Assistant("", transcript.ToolUse("a", "t", nil))}}, `messages[1]: tool call "a" has no result`},
		"orphan output (O-11)": {provider.Request{Messages: []transcript.Message{user, transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"})}}, `messages[1]: tool call "a" is answered here`},
	} {
		c.req.Model = "gpt-5.2"
		if c.req.Messages == nil {
			c.req.Messages = []transcript.Message{user}
		}
		_, err := providertest.RenderBody(Codec{}, &c.req, entry(t, "gpt-5.2"))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func sealed(id, content string) transcript.Block {
	meta := &transcript.Meta{Provider: transcript.MetaOpenAI, ID: id}
	if content != "" {
		meta.EncryptedContent = &content
	}
	return transcript.Reasoning("sum", meta)
}

func native(model string, blocks ...transcript.Block) []transcript.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].Origin = &transcript.Origin{Provider: "openai", API: "responses", Model: model, Index: i}
	}
	return blocks
}

func withRaw(b transcript.Block, raw string) transcript.Block {
	b.Raw = []byte(raw)
	return b
}

// input renders one reply, answered, and returns its items.
func input(t *testing.T, model string, blocks []transcript.Block) string {
	t.Helper()
	m := transcript.Assistant("", blocks...)
	messages := []transcript.Message{transcript.User("x"), m}
	var results []transcript.ToolResult
	for c := range m.ToolCalls() {
		results = append(results, transcript.ToolResult{ToolUseID: c.ID, Content: "r"})
	}
	if results != nil {
		messages = append(messages, transcript.ToolResults(results...))
	}
	body := render(t, &provider.Request{Model: model, Messages: append(messages, transcript.User("end"))})
	_, items, _ := strings.Cut(body, `"content":"x"},`)
	items, _, _ = strings.Cut(items, `,{"type":"message","role":"user","content":"end"}`)
	items, _, _ = strings.Cut(items, `{"type":"function_call_output"`)
	if strings.HasPrefix(items, `{"type":"message","role":"user"`) {
		return ""
	}
	return strings.TrimSuffix(items, ",")
}

func TestRenderReply(t *testing.T) {
	const (
		item1   = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"sum"}],"encrypted_content":"gA1"}`
		rawItem = `{"id":"rs_1", "type":"reasoning","encrypted_content":"gA1","summary":[]}`
		message = `{"type":"message","role":"assistant","content":"hi"}`
		rawMsg  = `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"hi"}],"role":"assistant"}`
		rawCall = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{}","call_id":"a","name":"f"}`
		call    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
		search  = `{"id":"ws_1","type":"web_search_call","status":"completed"}`
	)
	text, fcall := transcript.Text("hi"), transcript.ToolUse("a", "f", []byte("{}"))
	opaque := withRaw(transcript.Block{Type: transcript.BlockOpaque, Kind: "web_search_call"}, search)
	for name, c := range map[string]struct {
		blocks []transcript.Block
		want   string
	}{
		"fields":                            {native("gpt-5.2", sealed("rs_1", "gA1"), text, fcall), item1 + "," + message + "," + call},
		"raw":                               {native("gpt-5.2", withRaw(sealed("rs_1", "gA1"), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall), opaque), rawItem + "," + rawMsg + "," + rawCall + "," + search},
		"trailing reasoning (O-12)":         {native("gpt-5.2", text, sealed("rs_1", "gA1"), sealed("rs_2", "gA2")), message},
		"reasoning before nothing":          {native("gpt-5.2", sealed("rs_1", "gA1"), transcript.Text("")), ""},
		"only reasoning (D-16)":             {native("gpt-5.2", sealed("rs_1", "gA1")), ""},
		"bare id (O-14), ids go too (O-13)": {native("gpt-5.2", withRaw(sealed("rs_1", ""), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall)), message + "," + call},
		"another model's":                   {native("gpt-5.4", withRaw(sealed("rs_1", "gA1"), rawItem), withRaw(text, rawMsg), withRaw(fcall, rawCall), opaque), message + "," + call},
		"opaque without its reasoning":      {native("gpt-5.2", sealed("rs_1", ""), sealed("rs_2", "gA2"), opaque), ""},
		"cut call (D-16)":                   {native("gpt-5.2", withRaw(transcript.ToolUse("a", "f", []byte(`{"x`)), `{"type":"function_call","id":"fc_1","status":"incomplete","call_id":"a","name":"f","arguments":"{\"x"}`)), `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x"}`},
		"no arguments":                      {native("gpt-5.2", transcript.ToolUse("a", "f", nil)), call},
		"mapped id (O-7)":                   {native("gpt-5.2", withRaw(transcript.ToolUse("a.b", "f", nil), `{"call_id":"a.b"}`)), `{"type":"function_call","call_id":"mk_e74uovg64hafgcdmzvsnvitv","name":"f","arguments":"{}"}`},
		"exact arguments":                   {native("gpt-5.2", transcript.ToolUse("a", "f", []byte("{ \"k\": 1.0,\n\"\xed\xa0\xbd\xff\":\"\\u00e9\"}"))), "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{ \\\"k\\\": 1.0,\\n\\\"\\ud83d\xff\\\":\\\"\\\\u00e9\\\"}\"}"},
	} {
		if got := input(t, "gpt-5.2", c.blocks); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// Summary parts come back as they came: one by one, [] when there were none,
// and the text as one part when they are unknown (R18, D-13).
func TestRenderSummary(t *testing.T) {
	for _, c := range []struct {
		text    string
		summary []string
		want    string
	}{
		{"a\nb", []string{"a", "b"}, `[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]`},
		{"", []string{}, `[]`},
		{"", nil, `[]`},
		{"ignored", []string{}, `[]`},
		{"joined", nil, `[{"type":"summary_text","text":"joined"}]`},
	} {
		b := sealed("rs_1", "gA")
		b.Text, b.Meta.Summary = c.text, c.summary
		got := input(t, "gpt-5.2", native("gpt-5.2", b, transcript.Text("x")))
		if !strings.Contains(got, `"summary":`+c.want+`,"encrypted_content":"gA"`) {
			t.Errorf("%q %q: %s", c.text, c.summary, got)
		}
	}
}

func TestRenderProperties(t *testing.T) {
	m := entry(t, "gpt-5.2")
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
				var w jsontok.Writer
				w.Str(string(c.Args))
				if len(c.Args) > 0 && !bytes.Contains(body, append([]byte(`"arguments":`), w.Bytes()...)) {
					t.Fatalf("arguments %q are not in %s", c.Args, body)
				}
			}
		}
		for n := len(req.Messages) - 1; n > 0; n-- {
			if req.Messages[n-1].HasToolCalls() {
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

func TestRenderAnything(t *testing.T) {
	m := entry(t, "gpt-5.2")
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
