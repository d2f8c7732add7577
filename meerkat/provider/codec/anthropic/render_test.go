package anthropic

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
	m, err := catalog.Lookup(model)
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
				Model: "claude-opus-4-5", System: c.System, Messages: c.Messages, Tools: providertest.Tools(),
			})
			if !json.Valid([]byte(body)) {
				t.Fatalf("not JSON: %s", body)
			}
			providertest.Golden(t, c.Name+".json", []byte(body))
		})
	}
}

// The thinking form follows the catalogue (reference §6.1), and sampling goes
// only where it is taken.
func TestRenderParameters(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		name string
		req  provider.Request
		want string
		not  string
	}{
		{"budget", provider.Request{Model: "claude-opus-4-5"}, `"max_tokens":32768,"stream":true,"thinking":{"type":"enabled","budget_tokens":8192},"messages"`, ""},
		{"budget fits", provider.Request{Model: "claude-sonnet-4-5", Effort: "high", MaxOutputTokens: 4096}, `"max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":2048}`, "output_config"},
		{"budget off", provider.Request{Model: "claude-opus-4-5", Effort: "none", Temperature: &half, Unary: true}, `"stream":false,"thinking":{"type":"disabled"},"temperature":0.5,`, ""},
		{"adaptive", provider.Request{Model: "claude-opus-4-6", Temperature: &half}, `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"messages"`, "temperature"},
		{"adaptive off", provider.Request{Model: "claude-opus-4-8", Effort: "none", Temperature: &half}, `"thinking":{"type":"disabled"},"messages"`, "temperature"},
		{"adaptive max", provider.Request{Model: "claude-opus-4-6", Effort: "max"}, `"output_config":{"effort":"max"}`, "budget"},
		{"always on", provider.Request{Model: "claude-fable-5"}, `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`, ""},
		{"stops", provider.Request{Model: "claude-opus-4-6", StopSequences: []string{"a", "\n"}}, `"stop_sequences":["a","\n"]`, ""},
		{"choice", provider.Request{Model: "claude-opus-4-6", ToolChoice: "list_dir", Tools: providertest.Tools()}, `"tool_choice":{"type":"tool","name":"list_dir"}`, ""},
		{"choice none", provider.Request{Model: "claude-opus-4-6", ToolChoice: "none", Tools: providertest.Tools()}, `"tool_choice":{"type":"none"}`, ""},
		{"choice without tools", provider.Request{Model: "claude-opus-4-6", ToolChoice: "auto"}, `"messages"`, "tool_choice"},
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
		"effort (A-32)":            {provider.Request{Model: "claude-opus-4-6", Effort: "xhigh"}, `effort: "xhigh" is not offered by claude-opus-4-6; use one of none, low`},
		"always on (A-30)":         {provider.Request{Model: "claude-fable-5", Effort: "none"}, `effort: "none" is not offered`},
		"too much (A-7)":           {provider.Request{Model: "claude-opus-4-5", MaxOutputTokens: 64001}, "max output tokens: 64001"},
		"no room (A-25)":           {provider.Request{Model: "claude-opus-4-5", MaxOutputTokens: 2047}, "max output tokens: 2047 leave no room"},
		"forced thinking (A-26)":   {provider.Request{Model: "claude-opus-4-5", ToolChoice: "any", Tools: providertest.Tools()}, "tool choice: a tool cannot be forced while thinking"},
		"forced (A-33)":            {provider.Request{Model: "claude-fable-5", ToolChoice: "any", Tools: providertest.Tools()}, "tool choice: claude-fable-5 cannot"},
		"choice (A-23)":            {provider.Request{Model: "claude-opus-4-6", ToolChoice: "x", Tools: providertest.Tools()}, `tool choice: "x" is no tool`},
		"any without tools":        {provider.Request{Model: "claude-opus-4-6", ToolChoice: "any"}, "tool choice: any needs tools"},
		"tool name (A-21)":         {provider.Request{Model: "claude-opus-4-6", Tools: []transcript.ToolDef{{Name: "a.b"}}}, `tool "a.b": anthropic does not take`},
		"tool twice (A-21)":        {provider.Request{Model: "claude-opus-4-6", Tools: []transcript.ToolDef{{Name: "a"}, {Name: "a"}}}, "tool a: it is defined twice"},
		"schema":                   {provider.Request{Model: "claude-opus-4-6", Tools: []transcript.ToolDef{{Name: "a", InputSchema: []byte(`{`)}}}, "tool a: its input schema"},
		"blank user (A-11)":        {provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{user, transcript.User(" \n")}}, "messages[1]: it has no text"},
		"assistant first (A-8)":    {provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{transcript.Assistant("", transcript.Text("a")), user}}, "messages[0]: the conversation must start"},
		"prefill (A-14)":           {provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{user, transcript.Assistant("", transcript.Text("a"))}}, "messages[1]: claude-opus-4-6 takes no assistant message at the end"},
		"prefill while thinking":   {provider.Request{Model: "claude-opus-4-5", Messages: []transcript.Message{user, transcript.Assistant("", transcript.Text("a"))}}, "messages[1]: claude-opus-4-5 takes no"},
		"nothing (A-8)":            {provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{transcript.System("x")}}, "messages: there is nothing to send"},
		"orphan call (A-15)":       {provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{user, transcript.Assistant("", transcript.ToolUse("a", "t", nil))}}, `messages[1]: tool call "a" has no result`},
		"orphan result (A-17)":     {provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{user, transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"})}}, `messages[1]: tool call "a" is answered here`},
		"unmeasurable temperature": {provider.Request{Model: "claude-opus-4-6", Temperature: new(float64)}, ""},
	} {
		if c.req.Messages == nil {
			c.req.Messages = []transcript.Message{user}
		}
		if c.want == "" {
			*c.req.Temperature /= *c.req.Temperature // NaN
			c.want = "temperature: it is not a number"
		}
		_, err := providertest.RenderBody(Codec{}, &c.req, entry(t, c.req.Model))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// A final assistant text on a model with prefill loses its trailing white
// space there and only there (A-13, R10); a paused turn goes back as it came.
func TestRenderEndsWithAssistant(t *testing.T) {
	req := &provider.Request{Model: "claude-opus-4-5", Effort: "none", Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant("", transcript.Text("kept "), transcript.Text("cut \n")),
	}}
	if body := render(t, req); !strings.Contains(body, `{"type":"text","text":"kept "},{"type":"text","text":"cut"}]`) {
		t.Error(body)
	}
	req = &provider.Request{Model: "claude-fable-5", Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant(transcript.StopPauseTurn, transcript.Text("searching ")),
	}}
	if body := render(t, req); !strings.Contains(body, `"text":"searching "`) {
		t.Error(body)
	}
}

func native(model string, blocks ...transcript.Block) []transcript.Block {
	for i := range blocks {
		blocks[i].Origin = &transcript.Origin{Provider: "anthropic", API: "messages", Model: model, Index: i}
	}
	return blocks
}

func thought(text string) transcript.Block {
	return transcript.Reasoning(text, &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "c2ln"})
}

// A budget model refuses an open tool loop that does not start with thinking
// thinking is off until the loop is closed, and then on again (open-tool-loop).
func TestRenderForeignLoop(t *testing.T) {
	loop := []transcript.Message{
		transcript.User("x"),
		transcript.Assistant("", native("claude-opus-4-5", thought("old"), transcript.Text("hi"))...),
		transcript.User("y"),
		transcript.Assistant("", transcript.Reasoning("foreign", nil), transcript.ToolUse("a", "list_dir", nil)),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "a", Content: "r"}),
		transcript.Assistant("", native("claude-opus-4-5", thought("late"), transcript.ToolUse("b", "list_dir", nil))...),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "b", Content: "r"}),
	}
	req := &provider.Request{Model: "claude-opus-4-5", Tools: providertest.Tools(), Messages: loop}
	if body := render(t, req); !strings.Contains(body, `"thinking":{"type":"disabled"}`) || strings.Contains(body, `"signature"`) {
		t.Errorf("open loop: %s", body)
	}
	req.Messages = append(slices.Clip(loop), transcript.Assistant("", native("claude-opus-4-5", transcript.Text("done"))...), transcript.User("z"))
	body := render(t, req)
	if !strings.Contains(body, `"budget_tokens"`) || strings.Count(body, `"signature"`) != 2 || strings.Contains(body, "foreign") {
		t.Errorf("closed loop: %s", body)
	}
	req.Model = "claude-opus-4-6" // adaptive: nothing needed
	req.Messages = loop
	if body := render(t, req); !strings.Contains(body, `"adaptive"`) {
		t.Errorf("adaptive: %s", body)
	}
	// A loop that starts with thinking goes on with it.
	req = &provider.Request{Model: "claude-opus-4-5", Tools: providertest.Tools(), Messages: append(loop[:3:3], loop[5:]...)}
	if body := render(t, req); !strings.Contains(body, `"budget_tokens"`) || strings.Count(body, `"signature"`) != 2 {
		t.Errorf("own loop: %s", body)
	}
}

func TestRenderThinkingOfOthers(t *testing.T) {
	body := render(t, &provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{
		transcript.User("x"),
		transcript.Assistant("", native("claude-opus-4-6", thought("mine"), transcript.Text("a"))...),
		transcript.User("x"),
		transcript.Assistant("", native("claude-opus-4-5", thought("another model's"), transcript.Text("b"))...),
		transcript.User("x"),
		transcript.Assistant("", native("claude-opus-4-6", transcript.Text("c"), thought("last"))...),
		transcript.User("x"),
	}})
	if !strings.Contains(body, `[{"type":"thinking","thinking":"mine","signature":"c2ln"},{"type":"text","text":"a"}]`) ||
		strings.Contains(body, "another model's") || strings.Contains(body, "last") {
		t.Error(body)
	}
}

// What arrived whole goes back untouched, to its own origin only.
func TestRenderRaw(t *testing.T) {
	blocks := native("claude-opus-4-6", thought("t"), transcript.Text("a"), transcript.ToolUse("a", "list_dir", []byte(`{}`)),
		transcript.Block{Type: transcript.BlockOpaque, Kind: "server_tool_use"})
	raws := []string{
		`{"signature":"c2ln", "type":"thinking","thinking":"t"}`, `{"type":"text","text":"\u0061","citations":null}`,
		`{"caller":{"type":"direct"},"type":"tool_use","id":"a","name":"list_dir","input":{ }}`, `{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1.0}}`,
	}
	for i := range blocks {
		blocks[i].Raw = []byte(raws[i])
	}
	req := &provider.Request{Model: "claude-opus-4-6", Tools: providertest.Tools(), Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant("", blocks...), transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"}),
	}}
	if body := render(t, req); !strings.Contains(body, `"content":[`+strings.Join(raws, ",")+`]}`) {
		t.Error(body)
	}
	req.Model = "claude-opus-4-5"
	body := render(t, req)
	for i, raw := range raws {
		if strings.Contains(body, raw) {
			t.Errorf("raw %d went to another model: %s", i, body)
		}
	}
}

func TestRenderProperties(t *testing.T) {
	m := entry(t, "claude-opus-4-6")
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
				if jsontok.IsObject(c.Args) && !bytes.Contains(body, append([]byte(`"input":`), c.Args...)) {
					t.Fatalf("arguments %s are not in %s", c.Args, body)
				}
			}
		}
		// The prefix is append-only: a shorter conversation is a prefix (R44).
		for n := len(req.Messages) - 1; n > 0; n-- {
			if r := req.Messages[n-1].Role; r == transcript.RoleAssistant {
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
	m := entry(t, "claude-opus-4-5")
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
