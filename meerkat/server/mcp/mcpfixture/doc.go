// Package mcpfixture is the server that the conformance suite of the MCP project asks
// for: tools, resources and prompts with the suite's own names and answers. A test serves
// it with the same code as the agent's own tools, so that the suite judges that code.
//
//	handler := mcp.NewHandler(mcpfixture.New())
//
// No program links this package.
package mcpfixture

import (
	"context"
	"encoding/base64"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// New returns a server with all fixtures of @modelcontextprotocol/conformance 0.1.16.
func New() *sdk.Server {
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
