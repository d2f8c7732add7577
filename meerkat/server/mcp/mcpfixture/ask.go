package mcpfixture

import (
	"context"
	"encoding/json"
	"fmt"

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
