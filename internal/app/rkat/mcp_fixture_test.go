package rkat

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// newFixtureServer returns the server that the conformance suite of the MCP project asks
// for: tools, resources and prompts with the suite's own names and answers.
func newFixtureServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "fixtures", Version: "1"}, &sdk.ServerOptions{
		CompletionHandler: completeArgument,
		// The SDK keeps the subscriptions; nothing here changes.
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	addContentTools(s)
	addNotifyingTools(s)
	addAskingTools(s)
	addResources(s)
	addPrompts(s)
	return s
}

// completeArgument answers with no suggestion, which the suite accepts.
func completeArgument(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
}

// pixel is a PNG of one pixel, and silence a WAV file without a sample.
func pixel() []byte {
	return decodeBase64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
}

func silence() []byte {
	return decodeBase64("UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=")
}

func decodeBase64(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

func textContent(text string) *sdk.TextContent { return &sdk.TextContent{Text: text} }

func imageContent() *sdk.ImageContent {
	return &sdk.ImageContent{Data: pixel(), MIMEType: "image/png"}
}

func resourceContent(uri, mimeType, text string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

// schema2020 is the input schema whose keywords must arrive as they are.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`

// addContentTools adds the tools that answer with fixed content.
func addContentTools(s *sdk.Server) {
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":   {textContent("This is a simple text response for testing.")},
		"test_image_content": {imageContent()},
		"test_audio_content": {&sdk.AudioContent{Data: silence(), MIMEType: "audio/wav"}},
		"test_embedded_resource": {resourceContent(
			"test://embedded-resource", "text/plain", "This is an embedded resource content.",
		)},
		"test_multiple_content_types": {
			textContent("Multiple content types test:"), imageContent(),
			resourceContent("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
	} {
		addTool(
			s, name,
			func(context.Context, *sdk.CallToolRequest, struct{}) ([]sdk.Content, error) { return content, nil },
		)
	}
	addTool(s, "test_error_handling", func(context.Context, *sdk.CallToolRequest, struct{}) ([]sdk.Content, error) {
		return nil,
			errors.New("This tool intentionally returns an error for testing") //nolint:staticcheck // the suite's words
	})
	s.AddTool(&sdk.Tool{
		Name: "json_schema_2020_12_tool", Description: "keeps its schema", InputSchema: json.RawMessage(schema2020),
	},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{textContent("ok")}}, nil
		})
}

// addTool adds a tool that returns content.
func addTool[In any](s *sdk.Server, name string,
	call func(context.Context, *sdk.CallToolRequest, In) ([]sdk.Content, error)) {
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: "a fixture of the conformance suite"},
		func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
			content, err := call(ctx, r, in)
			if err != nil {
				return nil, nil, err
			}
			return &sdk.CallToolResult{Content: content}, nil, nil
		})
}

// pause lies between two notifications: the suite wants to receive them one by one.
const pause = 50 * time.Millisecond

// addNotifyingTools adds the tools that send something while they run.
func addNotifyingTools(s *sdk.Server) {
	addTool(s, "test_tool_with_logging",
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
			for _, message := range []string{
				"Tool execution started", "Tool processing data", "Tool execution completed",
			} {
				if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: message}); err != nil {
					return nil, err
				}
				if err := waitPause(ctx); err != nil {
					return nil, err
				}
			}
			return []sdk.Content{textContent("logged")}, nil
		})
	addTool(s, "test_tool_with_progress",
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
			for _, done := range []float64{0, 50, 100} {
				if token := r.Params.GetProgressToken(); token != nil {
					if err := r.Session.NotifyProgress(
						ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100},
					); err != nil {
						return nil, err
					}
				}
				if err := waitPause(ctx); err != nil {
					return nil, err
				}
			}
			return []sdk.Content{textContent("done")}, nil
		})
	addTool(s, "test_reconnection",
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
			if r.Extra != nil && r.Extra.CloseSSEStream != nil {
				r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 2 * pause})
			}
			return []sdk.Content{textContent("The stream was closed before this answer.")}, waitPause(ctx)
		})
}

func waitPause(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
