package rkat

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// conformTools are what the scenarios call by role: one that answers, one that
// fails, one that takes nothing, and for those that look at images one that returns one.
func conformTools(withImage bool) []tool.Tool {
	tools := []tool.Tool{
		{Def: transcript.ToolDef{
			Name: "conform_echo", Description: "Returns the text it is given.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string","description":"The text to return."}},"required":["text"]}`),
		}, Func: echoTool},
		{Def: transcript.ToolDef{Name: "conform_fail", Description: "Always fails."}, Func: failingTool},
		{Def: transcript.ToolDef{Name: "conform_noargs", Description: "Takes no arguments and returns ok."}, Func: noArgsTool},
	}
	if withImage {
		tools = append(tools, tool.Tool{Def: transcript.ToolDef{Name: "conform_image", Description: "Takes no arguments and returns an image."}, Func: imageTool})
	}
	return tools
}

func echoTool(_ context.Context, args []byte) (transcript.ToolResult, error) {
	var in struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(args, &in); err != nil || in.Text == nil {
		return transcript.ToolResult{}, errors.New("conform_echo: the argument text must be a string")
	}
	return transcript.ToolResult{Content: *in.Text}, nil
}

func failingTool(context.Context, []byte) (transcript.ToolResult, error) {
	return transcript.ToolResult{}, errors.New("conform_fail: this tool always fails")
}

func noArgsTool(context.Context, []byte) (transcript.ToolResult, error) {
	return transcript.ToolResult{Content: "ok"}, nil
}

// redPixel is a PNG of one red pixel.
const redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"

func imageTool(context.Context, []byte) (transcript.ToolResult, error) {
	data, err := base64.StdEncoding.DecodeString(redPixel)
	return transcript.ToolResult{Content: "One red pixel.", Parts: []transcript.Part{{Type: "image", MediaType: "image/png", Data: data}}}, err
}
