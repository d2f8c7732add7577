package anthropic

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestDeferred: what searches for deferred tools stands ahead of them and is loaded; a
// cache mark stands on none of them.
func TestDeferred(t *testing.T) {
	model, err := catalog.Lookup("claude-opus-4-6")
	if err != nil {
		t.Fatal(err)
	}
	tool := transcript.ToolDef{Name: "echo", InputSchema: transcript.RawJSON(`{"type":"object"}`)}
	late := tool
	late.Name, late.Deferred = "late", true
	for want, tools := range map[string][]transcript.ToolDef{
		`"tools":[{"name":"echo","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`:                                                                                                           {tool},
		`"tools":[{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},{"name":"echo","input_schema":{"type":"object"}},{"name":"late","input_schema":{"type":"object"},"defer_loading":true}]`: {tool, late},
	} {
		got, err := Codec{}.Render(
			&provider.Request{
				Model: "claude-opus-4-6", CacheTTL: "5m", Tools: tools,
				Messages: []transcript.Message{transcript.User("hi")},
			},
			model,
		)
		if err != nil || !strings.Contains(string(got.Body), want) {
			t.Errorf("%v: %s; want %s", err, got.Body, want)
		}
	}
}
