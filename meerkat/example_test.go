package meerkat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// shouter calls the tool once and then answers with what it returned. With
// WithAnthropic, WithOpenAI or WithGemini a real model stands in its place.
type shouter struct{}

func (shouter) Provider() string                         { return catalog.Anthropic }
func (shouter) Render(*provider.Request) ([]byte, error) { return nil, nil }

func (shouter) Complete(_ context.Context, r *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == transcript.RoleToolResults {
		return stream.Reply{Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text(last.Results[0].Content))}, nil
	}
	args, _ := json.Marshal(map[string]string{"text": last.Content})
	return stream.Reply{Message: transcript.Assistant(transcript.StopToolUse, transcript.ToolUse("call_1", "shout", args))}, nil
}

func shout(_ context.Context, args []byte) (transcript.ToolResult, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(args, &in); err != nil {
		return transcript.ToolResult{}, err
	}
	return transcript.ToolResult{Content: strings.ToUpper(in.Text)}, nil
}

func Example() {
	agent, err := meerkat.NewAgent().
		WithClient(shouter{}).
		WithSystemPrompt("Shout whatever you are told.").
		WithTool(tool.Tool{
			Def: transcript.ToolDef{
				Name:        "shout",
				Description: "Shouts a text.",
				InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
			},
			Func: shout,
		}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	first, err := agent.Run(ctx, "good morning")
	fmt.Println(first.Text, first.Turns, first.ToolCalls, err)
	second, err := agent.Resume(ctx, first.SessionID, "good night")
	fmt.Println(second.Text, second.SessionID == first.SessionID, err)
	// Output:
	// GOOD MORNING 2 1 <nil>
	// GOOD NIGHT true <nil>
}
