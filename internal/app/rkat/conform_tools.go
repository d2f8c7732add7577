package rkat

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// conformTools are what the scenarios call by role: one that answers, one that
// fails, one that takes nothing.
func conformTools() []tool.Tool {
	return []tool.Tool{
		{Def: transcript.ToolDef{
			Name: "conform_echo", Description: "Returns the text it is given.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string","description":"The text to return."}},"required":["text"]}`),
		}, Func: echoTool},
		{Def: transcript.ToolDef{Name: "conform_fail", Description: "Always fails."}, Func: failingTool},
		{Def: transcript.ToolDef{Name: "conform_noargs", Description: "Takes no arguments and returns ok."}, Func: noArgsTool},
	}
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
