package oracle

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/meerkat-go/conformance/simulator"
)

// claude talks to the simulator by anthropic-sdk-go.
type claude struct {
	t       *testing.T
	client  anthropic.Client
	params  anthropic.MessageNewParams
	streams bool
	results []anthropic.ContentBlockParamUnion // of the last calls
	outline outline
}

func newClaude(t *testing.T, w *link, streams bool) *claude {
	t.Helper()
	text := map[string]any{"type": "string"}
	echo := anthropic.ToolInputSchemaParam{Properties: map[string]any{"text": text}, Required: []string{"text"}}
	return &claude{
		t: t, streams: streams,
		client: anthropic.NewClient(option.WithBaseURL(w.address("anthropic")), option.WithAPIKey("made-up"),
			option.WithHTTPClient(w.client())),
		params: anthropic.MessageNewParams{
			Model: "claude-opus-4-5", MaxTokens: 4096, Thinking: anthropic.ThinkingConfigParamOfEnabled(2048),
			System: []anthropic.TextBlockParam{{Text: "Use the tools."}},
			Tools: []anthropic.ToolUnionParam{
				{OfTool: &anthropic.ToolParam{Name: "conform_echo", Description: anthropic.String("Echoes."),
					InputSchema: echo}},
				{OfTool: &anthropic.ToolParam{Name: "conform_noargs",
					InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
			},
		},
	}
}

func (c *claude) prompt(text string) {
	c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
}

func (c *claude) answer(to call, result string) {
	c.results = append(c.results, anthropic.NewToolResultBlock(to.id, result, false))
}

func (c *claude) alter() {
	for _, m := range c.params.Messages {
		for _, b := range m.Content {
			if b.OfThinking != nil {
				b.OfThinking.Signature = alteredToken(b.OfThinking.Signature)
				return
			}
		}
	}
	c.t.Error("no thinking in the history")
}

func (c *claude) ask() (said, error) {
	if len(c.results) > 0 {
		c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(c.results...))
		c.results = nil
	}
	var s said
	m, err := c.message()
	if err != nil {
		return s, err
	}
	c.params.Messages = append(c.params.Messages, m.ToParam())
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case anthropic.ThinkingBlock:
			s.thought()
		case anthropic.TextBlock:
			s.text(b.Text)
		case anthropic.ToolUseBlock:
			s.call(b.ID, b.Name, b.Input)
		}
	}
	return s, nil
}

func (c *claude) message() (*anthropic.Message, error) {
	if !c.streams {
		m, err := c.client.Messages.New(c.t.Context(), c.params)
		if err == nil {
			c.outline.see("message", m)
		}
		return m, err
	}
	stream := c.client.Messages.NewStreaming(c.t.Context(), c.params)
	defer func() { _ = stream.Close() }() // it was read to its end
	var m anthropic.Message
	for stream.Next() {
		event := stream.Current()
		c.outline.see(event.Type, event)
		if err := m.Accumulate(event); err != nil {
			return nil, err
		}
	}
	return &m, stream.Err()
}

func TestAnthropicLoop(t *testing.T) {
	ways := map[string]func(*link) talker{}
	for name, streams := range map[string]bool{"stream": true, "unary": false} {
		ways[name] = func(w *link) talker { return newClaude(t, w, streams) }
	}
	loops(t, ways)
}

// unsentByAnthropic are members that the SDK's types require and that most recorded
// replies leave out, having nothing to say there.
var unsentByAnthropic = []string{
	"citations: missing", "container: missing", "diagnostics: missing", "server_tool_use: missing",
	"usage.output_tokens_details: missing", "usage.speed: missing",
}

// TestAnthropicShape holds that the SDK misses nothing, misreads nothing and
// knows all that a loop sends it.
func TestAnthropicShape(t *testing.T) {
	for _, streams := range []bool{true, false} {
		c := newClaude(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), streams)
		converse(t, c)
		c.outline.report(t, unsentByAnthropic...)
	}
}

// TestAnthropicRefusal holds that an altered signature is the SDK's typed error.
func TestAnthropicRefusal(t *testing.T) {
	for _, streams := range []bool{true, false} {
		err := altered(t, newClaude(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), streams))
		var refused *anthropic.Error
		if !errors.As(err, &refused) || refused.StatusCode != http.StatusBadRequest ||
			refused.Type() != anthropic.ErrorTypeInvalidRequestError || refused.RequestID == "" {
			t.Errorf("streams %t: %v", streams, err)
		}
	}
}

// TestAnthropicSides asks for everything that is not a message.
func TestAnthropicSides(t *testing.T) {
	c := newClaude(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), false)
	c.prompt("Call the tools.")
	count, err := c.client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
		Model: c.params.Model, Messages: c.params.Messages, Thinking: c.params.Thinking,
		System: anthropic.MessageCountTokensParamsSystemUnion{OfTextBlockArray: c.params.System},
		Tools:  []anthropic.MessageCountTokensToolUnionParam{{OfTool: c.params.Tools[0].OfTool}},
	})
	if err != nil || count.InputTokens < 10 {
		t.Errorf("%+v, %v", count, err)
	}
	c.outline.see("count", count)
	var ids []string
	pages := c.client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(5)})
	for pages.Next() {
		ids = append(ids, pages.Current().ID)
		c.outline.see("models", pages.Current())
	}
	if pages.Err() != nil || len(ids) < 10 {
		t.Errorf("%q, %v", ids, pages.Err())
	}
	one, err := c.client.Models.Get(t.Context(), "claude-opus-4-5", anthropic.ModelGetParams{})
	if err != nil || one.ID != "claude-opus-4-5-20251101" || one.CreatedAt.IsZero() {
		t.Errorf("%+v, %v", one, err)
	}
	var missing *anthropic.Error
	if _, err = c.client.Models.Get(t.Context(), "claude-0", anthropic.ModelGetParams{}); !errors.As(err, &missing) ||
		missing.Type() != anthropic.ErrorTypeNotFoundError {
		t.Error(err)
	}
	c.outline.report(t)
}

// TestAnthropicRetry holds that the SDK comes back when it is told to, and when.
func TestAnthropicRetry(t *testing.T) {
	t.Parallel()
	w := simulate(t, simulator.ListenConfig{Plain: true}, "    refuse: {kind: rate_limit, retry: seconds}\n")
	retried(t, w, newClaude(t, w, true), http.StatusTooManyRequests, time.Second)
}

// TestAnthropicFailure holds that an error in a stream is the SDK's typed error.
func TestAnthropicFailure(t *testing.T) {
	c := newClaude(t, simulate(t, simulator.ListenConfig{Plain: true}, "    error: {kind: overloaded, after: 4}\n"),
		true)
	c.prompt("Call the tools.")
	_, err := c.ask()
	var failed *anthropic.Error
	if !errors.As(err, &failed) || failed.Type() != anthropic.ErrorTypeOverloadedError {
		t.Error(err)
	}
}

// TestAnthropicGrease holds that unknown content does not disturb the SDK.
func TestAnthropicGrease(t *testing.T) {
	c := newClaude(t, simulate(t, simulator.ListenConfig{Plain: true}, "    grease: [unknown_event, unknown_field]\n"),
		true)
	greased(t, c, &c.outline)
}
