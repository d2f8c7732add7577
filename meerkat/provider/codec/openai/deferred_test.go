package openai

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestDeferred: the provider searches for deferred tools where the model can, and gets
// those loaded that a call of another provider's model names.
func TestDeferred(t *testing.T) {
	late := transcript.ToolDef{Name: "late", InputSchema: transcript.RawJSON(`{"type":"object"}`), Deferred: true}
	const tool = `{"type":"function","name":"late","parameters":{"type":"object"},"strict":false`
	ask := []transcript.Message{transcript.User("hi")}
	foreign := append(ask,
		transcript.Message{
			Role: transcript.RoleAssistant,
			Blocks: []transcript.Block{{
				Type: transcript.BlockToolUse, ID: "toolu_1", Name: "late", Args: []byte("{}"),
			}},
		},
		transcript.Message{
			Role:    transcript.RoleToolResults,
			Results: []transcript.ToolResult{{ToolUseID: "toolu_1", Content: "done"}},
		},
		transcript.User("And again."))
	for name, c := range map[string]struct {
		model, choice string
		messages      []transcript.Message
		want          string
	}{
		"searched for": {
			"gpt-5.5", "", ask, `"tools":[{"type":"tool_search"},` + tool + `,"defer_loading":true}]`,
		},
		"no search":             {"gpt-5.2", "", ask, `"tools":[` + tool + `}]`},
		"called without a home": {"gpt-5.5", "", foreign, `"tools":[` + tool + `}]`},
		"forced":                {"gpt-5.5", "late", ask, `"tools":[` + tool + `}]`},
	} {
		model, err := catalog.Lookup(c.model)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Codec{}.Render(
			&provider.Request{
				Model: c.model, Tools: []transcript.ToolDef{late}, ToolChoice: c.choice, Messages: c.messages,
			},
			model,
		)
		if err != nil || !strings.Contains(string(got.Body), c.want) {
			t.Errorf("%s: %v: %s; want %s", name, err, got.Body, c.want)
		}
	}
}
