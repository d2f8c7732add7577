package mcpfixture

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// schema2020 is the input schema whose keywords must arrive as they are.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`

// addContentTools adds the tools that answer with fixed content.
func addContentTools(s *sdk.Server) {
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":       {textContent("This is a simple text response for testing.")},
		"test_image_content":     {imageContent()},
		"test_audio_content":     {&sdk.AudioContent{Data: silence(), MIMEType: "audio/wav"}},
		"test_embedded_resource": {resourceContent("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			textContent("Multiple content types test:"), imageContent(),
			resourceContent("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
	} {
		addTool(s, name, func(context.Context, *sdk.CallToolRequest, struct{}) ([]sdk.Content, error) { return content, nil })
	}
	addTool(s, "test_error_handling", func(context.Context, *sdk.CallToolRequest, struct{}) ([]sdk.Content, error) {
		return nil, errors.New("This tool intentionally returns an error for testing") //nolint:staticcheck // the suite's words
	})
	s.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: "keeps its schema", InputSchema: json.RawMessage(schema2020)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{textContent("ok")}}, nil
		})
}

// addTool adds a tool that returns content.
func addTool[In any](s *sdk.Server, name string, call func(context.Context, *sdk.CallToolRequest, In) ([]sdk.Content, error)) {
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: "a fixture of the conformance suite"},
		func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
			content, err := call(ctx, r, in)
			if err != nil {
				return nil, nil, err
			}
			return &sdk.CallToolResult{Content: content}, nil, nil
		})
}
