package rkat

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// conformTools are what the scenarios call by role: one that answers, one that
// fails, one that takes nothing, and those of the roles that are asked for besides.
func conformTools(extra []string) []tool.Tool {
	tools := []tool.Tool{
		{Def: transcript.ToolDef{
			Name: "conform_echo", Description: "Returns the text it is given.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string","description":"The text to return."}},"required":["text"]}`),
		}, Func: echoTool},
		{Def: transcript.ToolDef{Name: "conform_fail", Description: "Always fails."}, Func: failingTool},
		{
			Def:  transcript.ToolDef{Name: "conform_noargs", Description: "Takes no arguments and returns ok."},
			Func: noArgsTool,
		},
	}
	for _, t := range extraConformTools {
		if slices.Contains(extra, strings.TrimPrefix(t.Def.Name, "conform_")) {
			tools = append(tools, t)
		}
	}
	return tools
}

// extraConformTools are those that few scenarios call.
var extraConformTools = []tool.Tool{
	{
		Def:  transcript.ToolDef{Name: "conform_image", Description: "Takes no arguments and returns an image."},
		Func: imageTool,
	},
	{Def: transcript.ToolDef{
		Name: "conform_slow", Description: "Waits for some seconds and returns ok.",
		InputSchema: transcript.RawJSON(`{"type":"object","properties":{"seconds":{"type":"integer","description":"How long to wait."}},"required":["seconds"]}`),
	}, Func: slowTool},
	{
		Def:  transcript.ToolDef{Name: "conform_large", Description: "Takes no arguments and returns a long text."},
		Func: largeTool,
	},
	{Def: transcript.ToolDef{
		Name: "conform_awkward", Description: "Returns its arguments as they arrived.",
		InputSchema: transcript.RawJSON(`{"type":"object","properties":{"id":{"type":"integer"},"kind":{"type":"string","enum":["plain","größer","鳥"]},"note":{"type":["string","null"]},` +
			`"labels":{"type":"object","additionalProperties":{"type":"string"}},"nested":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"value":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["value"]}}},"required":["list"]}},"required":["id","kind","nested"]}`),
	}, Func: awkwardTool},
}

func slowTool(ctx context.Context, args []byte) (transcript.ToolResult, error) {
	var in struct{ Seconds int }
	if err := json.Unmarshal(args, &in); err != nil || in.Seconds < 1 || in.Seconds > 60 {
		return transcript.ToolResult{}, errors.New("conform_slow: the argument seconds must be a number from 1 to 60")
	}
	timer := time.NewTimer(time.Duration(in.Seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return transcript.ToolResult{Content: "ok"}, nil
	case <-ctx.Done():
		return transcript.ToolResult{}, ctx.Err()
	}
}

// largeBytes is how long the text of conform_large is.
const largeBytes = 64 << 10

func largeTool(context.Context, []byte) (transcript.ToolResult, error) {
	text := make([]byte, 0, largeBytes+64)
	for line := 1; len(text) < largeBytes; line++ {
		text = fmt.Appendf(text, "line %06d of a result that is long\n", line)
	}
	return transcript.ToolResult{Content: string(text[:largeBytes])}, nil
}

func awkwardTool(_ context.Context, args []byte) (transcript.ToolResult, error) {
	return transcript.ToolResult{Content: string(args)}, nil
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
	return transcript.ToolResult{
		Content: "One red pixel.", Parts: []transcript.Part{{Type: "image", MediaType: "image/png", Data: data}},
	}, err
}
