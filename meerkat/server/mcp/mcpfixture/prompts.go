package mcpfixture

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addPrompts adds the prompts.
func addPrompts(s *sdk.Server) {
	addPrompt(s, "test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{textContent("This is a simple prompt for testing.")}
	})
	addPrompt(s, "test_prompt_with_arguments", []string{"arg1", "arg2"}, func(in map[string]string) []sdk.Content {
		return []sdk.Content{textContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", in["arg1"], in["arg2"]))}
	})
	addPrompt(s, "test_prompt_with_embedded_resource", []string{"resourceUri"}, func(in map[string]string) []sdk.Content {
		return []sdk.Content{
			resourceContent(in["resourceUri"], "text/plain", "Embedded resource content for testing."),
			textContent("Please process the embedded resource above."),
		}
	})
	addPrompt(s, "test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{imageContent(), textContent("Please analyze the image above.")}
	})
}

// addPrompt adds a prompt with required arguments; each content is a user's message.
func addPrompt(s *sdk.Server, name string, arguments []string, contents func(map[string]string) []sdk.Content) {
	p := &sdk.Prompt{Name: name, Description: "a fixture"}
	for _, argument := range arguments {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: argument, Description: "an argument", Required: true})
	}
	s.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		result := &sdk.GetPromptResult{}
		for _, c := range contents(r.Params.Arguments) {
			result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return result, nil
	})
}
