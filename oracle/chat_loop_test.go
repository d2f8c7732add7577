package oracle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// completer talks by openai-go's Chat Completions to a model of DeepSeek. The SDK does not know reasoning_content,
// so the loop carries it, as agents that are built on this SDK do.
type completer struct {
	t       *testing.T
	client  openai.Client
	params  openai.ChatCompletionNewParams
	streams bool
}

func newCompleter(t *testing.T, w *link, streams bool) *completer {
	t.Helper()
	function := func(name string, parameters shared.FunctionParameters) openai.ChatCompletionToolUnionParam {
		return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Parameters: parameters})
	}
	text := map[string]any{"text": map[string]any{"type": "string"}}
	return &completer{
		t: t, streams: streams,
		client: openai.NewClient(option.WithBaseURL(w.address("chat")+"/v1"), option.WithAPIKey("made-up"),
			option.WithHTTPClient(w.client())),
		params: openai.ChatCompletionNewParams{
			Model:    "deepseek-v4-pro",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Use the tools.")},
			Tools: []openai.ChatCompletionToolUnionParam{
				function("conform_echo", shared.FunctionParameters{"type": "object", "properties": text,
					"required": []string{"text"}}),
				function("conform_noargs", shared.FunctionParameters{"type": "object", "properties": map[string]any{}}),
			},
		},
	}
}

func (c *completer) add(m openai.ChatCompletionMessageParamUnion) {
	c.params.Messages = append(c.params.Messages, m)
}

func (c *completer) prompt(text string) { c.add(openai.UserMessage(text)) }

func (c *completer) answer(to call, result string) { c.add(openai.ToolMessage(result, to.id)) }

// alter breaks the pair of a call and its result: DeepSeek issues no token that could be changed.
func (c *completer) alter() {
	for _, m := range c.params.Messages {
		if m.OfTool != nil {
			m.OfTool.ToolCallID += "0"
			return
		}
	}
	c.t.Error("no result in the history")
}

func (c *completer) ask() (said, error) {
	var s said
	message, thought, err := c.complete()
	if err != nil {
		return s, err
	}
	if thought != "" {
		s.thought()
	}
	if message.Content != "" {
		s.text(message.Content)
	}
	for _, tool := range message.ToolCalls {
		s.call(tool.ID, tool.Function.Name, []byte(tool.Function.Arguments))
	}
	back := message.ToAssistantMessageParam()
	back.SetExtraFields(map[string]any{"reasoning_content": thought})
	c.add(openai.ChatCompletionMessageParamUnion{OfAssistant: &back})
	return s, nil
}

// complete returns the message of a reply and its reasoning.
func (c *completer) complete() (message openai.ChatCompletionMessage, thought string, err error) {
	if !c.streams {
		r, err := c.client.Chat.Completions.New(c.t.Context(), c.params)
		if err != nil {
			return message, "", err
		}
		message = r.Choices[0].Message
		return message, reasoningIn(message.JSON.ExtraFields["reasoning_content"].Raw()), nil
	}
	stream := c.client.Chat.Completions.NewStreaming(c.t.Context(), c.params)
	defer func() { _ = stream.Close() }() // it was read to its end
	var whole openai.ChatCompletionAccumulator
	var thoughts strings.Builder
	for stream.Next() {
		chunk := stream.Current()
		if !whole.AddChunk(chunk) {
			c.t.Errorf("the SDK cannot add %s", chunk.RawJSON())
		}
		for _, choice := range chunk.Choices {
			thoughts.WriteString(reasoningIn(choice.Delta.JSON.ExtraFields["reasoning_content"].Raw()))
		}
	}
	if err := stream.Err(); err != nil {
		return message, "", err
	}
	return whole.Choices[0].Message, thoughts.String(), nil
}

// reasoningIn is the text of a member; "" where it is absent or null.
func reasoningIn(raw string) (text string) {
	_ = json.Unmarshal([]byte(raw), &text) // what is no text is none
	return text
}

func TestChatLoop(t *testing.T) {
	loops(t, map[string]func(*link) talker{
		"stream": func(w *link) talker { return newCompleter(t, w, true) },
		"unary":  func(w *link) talker { return newCompleter(t, w, false) },
	})
}
