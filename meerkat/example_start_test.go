package meerkat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// A key from the environment, a model, a prompt.
func ExampleNewAgent() {
	a, err := meerkat.NewAgent().WithEnv(os.Environ()).WithModel("claude-opus-4-6").WithMaxTurns(10).Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	result, err := a.Run(context.Background(), "Name three rivers.")
	fmt.Println(result.Text, err)
}

// Another process resumes a session: all it needs is the folder and the id.
func ExampleAgent_Resume() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	start := func() *meerkat.Agent {
		a, err := meerkat.NewAgent().WithClient(shouter{}).WithTool(shoutTool()).WithJSONLStore(dir).Build()
		if err != nil {
			panic(err)
		}
		return a
	}
	first, err := start().Run(context.Background(), "good morning")
	fmt.Println(first.Text, err)
	second, err := start().Resume(context.Background(), first.SessionID, "good night")
	fmt.Println(second.Text, second.SessionID == first.SessionID, err)
	// Output:
	// GOOD MORNING <nil>
	// GOOD NIGHT true <nil>
}

// A tool is a Go function with a JSON Schema. Its arguments match the schema when
// it is called; an error that it returns is an answer to the model.
func ExampleAgentBuilder_WithTool() {
	shout := tool.Tool{
		Def: transcript.ToolDef{
			Name: "shout", Description: "Returns a text in capitals.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		},
		Func: func(_ context.Context, args []byte) (transcript.ToolResult, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(args, &in); err != nil {
				return transcript.ToolResult{}, err
			}
			return transcript.ToolResult{Content: strings.ToUpper(in.Text)}, nil
		},
	}
	a, err := meerkat.NewAgent().WithClient(shouter{}).WithTool(shout).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := a.Run(context.Background(), "good morning")
	fmt.Println(result.Text, result.ToolCalls, err)
	// Output: GOOD MORNING 1 <nil>
}

// MCP servers are commands or addresses. A policy restricts their tools.
func ExampleAgentBuilder_WithMCP() {
	server := sdk.NewServer(&sdk.Implementation{Name: "words"}, nil)
	for _, name := range []string{"count", "delete"} {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()

	a, err := meerkat.NewAgent().WithClient(shouter{}).
		WithMCP(mcp.Options{}, mcp.Server{Name: "words", URL: web.URL},
			mcp.Server{Name: "gone", Command: "/no/such/program", Optional: true}).
		WithToolPolicy(tool.Policy{Deny: []string{"*__delete"}}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	for _, problem := range a.ToolProblems() {
		fmt.Println("not on offer:", problem.Server)
	}
	result, err := a.Run(context.Background(), "How many words?")
	fmt.Println(result.StopReason, err)
	// Output:
	// not on offer: gone
	// end_turn <nil>
}
