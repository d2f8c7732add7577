package meerkat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// A first program: a model, the tools of an MCP server, a prompt. It needs a key
// and npx.
func Example_quickStart() {
	ctx := context.Background()
	a, err := meerkat.NewAgent().
		WithEnv(os.Environ()). // ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY
		WithMCPServer("filesystem", "npx", "-y", "@modelcontextprotocol/server-filesystem", ".").
		WithLimits(session.Limits{MaxTokens: 50_000, MaxDuration: 10 * time.Minute}).
		WithJSONLStore("sessions").
		Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer a.Close()
	result, err := a.Run(ctx, "List the files in the current directory")
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // the session can be resumed all the same
	}
	fmt.Println(result.Text)
}

// Events on a channel show what happens while it happens.
func ExampleAgent_RunWithEvents() {
	a, err := meerkat.NewAgent().WithClient(shouting{tools: []string{"shout"}}).WithTool(shoutTool()).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	events := make(chan meerkat.Event, 128)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for e := range events {
			switch e.Type {
			case agent.TextComplete:
				fmt.Println(e.Content)
			case agent.ToolExecutionStarted:
				fmt.Printf("[calling %s …]\n", e.Name)
			default: // there are more
			}
		}
	}()
	result, err := a.RunWithEvents(context.Background(), "good morning", events)
	<-shown
	fmt.Println(result.Turns, "turns", err)
	// Output:
	// [calling shout …]
	// done
	// 2 turns <nil>
}

// A tool is a Go function with a schema; a session goes on where it ended.
func Example() {
	a, err := meerkat.NewAgent().
		WithClient(shouter{}).
		WithSystemPrompt("Shout whatever you are told.").
		WithTool(shoutTool()).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	first, err := a.Run(ctx, "good morning")
	fmt.Println(first.Text, first.Turns, first.ToolCalls, err)
	second, err := a.Resume(ctx, first.SessionID, "good night")
	fmt.Println(second.Text, second.SessionID == first.SessionID, err)
	// Output:
	// GOOD MORNING 2 1 <nil>
	// GOOD NIGHT true <nil>
}

func shoutTool() tool.Tool {
	return tool.Tool{
		Def: transcript.ToolDef{
			Name:        "shout",
			Description: "Shouts a text.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		},
		Func:       shout,
		Idempotent: true, // it may run again after an interruption
	}
}

func shout(_ context.Context, args []byte) (transcript.ToolResult, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(args, &in); err != nil {
		return transcript.ToolResult{}, err
	}
	return transcript.ToolResult{Content: strings.ToUpper(in.Text)}, nil
}

// shouter is a provider.Completer of one's own: it calls the tool once and then
// answers with what it returned. With WithAnthropic, WithOpenAI or WithGemini a
// real model stands in its place.
type shouter struct{}

func (shouter) Provider() string                         { return catalog.Anthropic }
func (shouter) Render(*provider.Request) ([]byte, error) { return nil, nil }

func (shouter) Complete(_ context.Context, r *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == transcript.RoleToolResults {
		return stream.Reply{
			Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text(last.Results[0].Content)),
		}, nil
	}
	args, _ := json.Marshal(map[string]string{"text": last.Content})
	return stream.Reply{
		Message: transcript.Assistant(transcript.StopToolUse, transcript.ToolUse("call_1", "shout", args)),
	}, nil
}

// shouting is a client that calls tools once, side by side, and then is done.
type shouting struct {
	shouter
	tools []string
}

func (s shouting) Complete(_ context.Context, r *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	if r.Messages[len(r.Messages)-1].Role == transcript.RoleToolResults {
		return stream.Reply{Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text("done"))}, nil
	}
	m := transcript.Assistant(transcript.StopToolUse)
	for i, name := range s.tools {
		m.Blocks = append(m.Blocks, transcript.ToolUse(fmt.Sprintf("call_%d", i), name, []byte(`{"x":1}`)))
	}
	return stream.Reply{Message: m}, nil
}

// counting is a session.Store of one's own: whatever keeps the promises of the
// interface, which package storetest checks, will do. This one counts what is
// written to another.
type counting struct {
	session.Store
	records int
}

func (c *counting) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	w, err := c.Store.Create(ctx, h)
	return &countingWriter{w, c}, err
}

type countingWriter struct {
	session.Writer
	store *counting
}

func (w *countingWriter) Append(ctx context.Context, records ...session.Record) error {
	w.store.records += len(records)
	return w.Writer.Append(ctx, records...)
}

// A store of one's own.
func ExampleAgentBuilder_WithStore() {
	store := &counting{Store: session.NewMemoryStore()}
	a, err := meerkat.NewAgent().WithClient(shouter{}).WithTool(shoutTool()).WithStore(store).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := a.Run(context.Background(), "hello")
	fmt.Println(result.Text, store.records > 8, err)
	// Output: HELLO true <nil>
}

// loud is a tool.Dispatcher of one's own: it offers tools and answers each call
// with exactly one result, whatever goes wrong.
type loud struct{}

func (loud) Defs() []transcript.ToolDef { return []transcript.ToolDef{shoutTool().Def} }

func (loud) Dispatch(_ context.Context, call transcript.ToolCall) transcript.ToolResult {
	return transcript.ToolResult{ToolUseID: call.ID, Content: call.Name + "!"}
}

// A dispatcher of one's own.
func ExampleAgentBuilder_WithDispatcher() {
	a, err := meerkat.NewAgent().WithClient(shouter{}).WithDispatcher(loud{}).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := a.Run(context.Background(), "hello")
	fmt.Println(result.Text, err)
	// Output: shout! <nil>
}
