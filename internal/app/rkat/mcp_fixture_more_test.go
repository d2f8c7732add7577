package rkat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The forms that the suite expects to be shown to a person.
const (
	userForm = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},
"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`
	defaultsForm = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},
"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
"verified":{"type":"boolean","default":true}}}`
	choicesForm = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
)

// addAskingTools adds the tools that ask the client for something.
func addAskingTools(s *sdk.Server) {
	addTool(s, "test_sampling", func(ctx context.Context, r *sdk.CallToolRequest, in struct {
		Prompt string `json:"prompt"`
	},
	) ([]sdk.Content, error) {
		answer, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
			Messages: []*sdk.SamplingMessage{{Role: "user", Content: textContent(in.Prompt)}}, MaxTokens: 100,
		})
		if err != nil {
			return nil, err
		}
		text, _ := answer.Content.(*sdk.TextContent)
		if text == nil {
			return nil, fmt.Errorf("sampling: the client answered with %T", answer.Content)
		}
		return []sdk.Content{textContent("LLM response: " + text.Text)}, nil
	})
	addTool(s, "test_elicitation", func(ctx context.Context, r *sdk.CallToolRequest, in struct {
		Message string `json:"message"`
	},
	) ([]sdk.Content, error) {
		return askPerson(ctx, r, in.Message, userForm, "User response: ")
	})
	for name, form := range map[string]string{
		"test_elicitation_sep1034_defaults": defaultsForm, "test_elicitation_sep1330_enums": choicesForm,
	} {
		addTool(s, name, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
			return askPerson(ctx, r, "Please fill in the form.", form, "Elicitation completed: ")
		})
	}
}

// askPerson shows a form and returns what was answered.
func askPerson(ctx context.Context, r *sdk.CallToolRequest, message, form, prefix string) ([]sdk.Content, error) {
	answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(form)})
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(answer.Content)
	if err != nil {
		return nil, err
	}
	return []sdk.Content{textContent(fmt.Sprintf("%saction=%s, content=%s", prefix, answer.Action, content))}, nil
}

// addResources adds the resources and the template.
func addResources(s *sdk.Server) {
	for _, c := range []sdk.ResourceContents{
		{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel()},
		{URI: "test://watched-resource", MIMEType: "text/plain", Text: "watched"},
	} {
		s.AddResource(&sdk.Resource{
			URI: c.URI, Name: strings.TrimPrefix(c.URI, "test://"), Description: "a fixture", MIMEType: c.MIMEType,
		},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&c}}, nil
			})
	}
	s.AddResourceTemplate(
		&sdk.ResourceTemplate{
			URITemplate: "test://template/{id}/data", Name: "template", Description: "a fixture",
			MIMEType: "application/json",
		},
		readTemplate,
	)
}

func readTemplate(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
	text := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)
	return &sdk.ReadResourceResult{
		Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: text}},
	}, nil
}

// addPrompts adds the prompts.
func addPrompts(s *sdk.Server) {
	addPrompt(s, "test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{textContent("This is a simple prompt for testing.")}
	})
	addPrompt(s, "test_prompt_with_arguments", []string{"arg1", "arg2"}, func(in map[string]string) []sdk.Content {
		return []sdk.Content{textContent(fmt.Sprintf(
			"Prompt with arguments: arg1='%s', arg2='%s'", in["arg1"], in["arg2"],
		))}
	})
	addPrompt(s, "test_prompt_with_embedded_resource", []string{"resourceUri"},
		func(in map[string]string) []sdk.Content {
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
		p.Arguments = append(
			p.Arguments, &sdk.PromptArgument{Name: argument, Description: "an argument", Required: true},
		)
	}
	s.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		result := &sdk.GetPromptResult{}
		for _, c := range contents(r.Params.Arguments) {
			result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return result, nil
	})
}
