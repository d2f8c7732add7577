package anthropic

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// A final assistant text on a model with prefill loses its trailing white
// space there and only there (A-13, R10); a paused turn goes back as it came.
func TestRenderEndsWithAssistant(t *testing.T) {
	req := &provider.Request{Model: "claude-opus-4-5", Effort: "none", Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant("", transcript.Text("kept "), transcript.Text("cut \n")),
	}}
	if body := suite.Render(t, *req); !strings.Contains(body, `{"type":"text","text":"kept "},{"type":"text","text":"cut"}]`) {
		t.Error(body)
	}
	req = &provider.Request{Model: "claude-fable-5", Messages: []transcript.Message{
		transcript.User("x"), transcript.Assistant(transcript.StopPauseTurn, transcript.Text("searching ")),
	}}
	if body := suite.Render(t, *req); !strings.Contains(body, `"text":"searching "`) {
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
	if body := suite.Render(t, *req); !strings.Contains(body, `"thinking":{"type":"disabled"}`) || strings.Contains(body, `"signature"`) {
		t.Errorf("open loop: %s", body)
	}
	req.Messages = append(slices.Clip(loop), transcript.Assistant("", native("claude-opus-4-5", transcript.Text("done"))...), transcript.User("z"))
	body := suite.Render(t, *req)
	if !strings.Contains(body, `"budget_tokens"`) || strings.Count(body, `"signature"`) != 2 || strings.Contains(body, "foreign") {
		t.Errorf("closed loop: %s", body)
	}
	req.Model = "claude-opus-4-6" // adaptive: nothing needed
	req.Messages = loop
	if body := suite.Render(t, *req); !strings.Contains(body, `"adaptive"`) {
		t.Errorf("adaptive: %s", body)
	}
	// A loop that starts with thinking goes on with it.
	req = &provider.Request{Model: "claude-opus-4-5", Tools: providertest.Tools(), Messages: append(loop[:3:3], loop[5:]...)}
	if body := suite.Render(t, *req); !strings.Contains(body, `"budget_tokens"`) || strings.Count(body, `"signature"`) != 2 {
		t.Errorf("own loop: %s", body)
	}
}

func TestRenderThinkingOfOthers(t *testing.T) {
	body := suite.Render(t, provider.Request{Model: "claude-opus-4-6", Messages: []transcript.Message{
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
	if body := suite.Render(t, *req); !strings.Contains(body, `"content":[`+strings.Join(raws, ",")+`]}`) {
		t.Error(body)
	}
	req.Model = "claude-opus-4-5"
	body := suite.Render(t, *req)
	for i, raw := range raws {
		if strings.Contains(body, raw) {
			t.Errorf("raw %d went to another model: %s", i, body)
		}
	}
}
