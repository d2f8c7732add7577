package anthropic

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
)

// TestPrefillThinks holds of which last messages the referee says that they do not start with thinking.
func TestPrefillThinks(t *testing.T) {
	const text = `{"type":"text","text":"x"}`
	const call = `{"type":"tool_use","id":"a","name":"f","input":{}}`
	const search = `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`
	for body, want := range map[string][]string{
		thinkOn + "," + said(aPrompt, assistant(text)):                                                 {"messages[1].content[0]"},
		thinkOn + "," + said(aPrompt, aPrompt, assistant(text)):                                        {"messages[2].content[0]"},
		thinkOn + "," + said(aPrompt, assistant(aThought+","+call), aResult, aPrompt, assistant(text)): nil,
		thinkOn + "," + said(aPrompt, assistant(aThought+","+call), aResult, assistant(text)):          nil,
		thinkOn + "," + said(aPrompt, assistant(aThought+","+text)):                                    nil,
		thinkOn + "," + said(aPrompt, assistant(text), aPrompt):                                        nil,
		thinkOn + "," + said(aPrompt, assistant(call)):                                                 nil,
		thinkOn + "," + said(aPrompt, assistant(search+","+text)):                                      nil,
		thinkOn + "," + said(aPrompt, assistant(text+","+search)):                                      nil,
		thinkOn + "," + said(aPrompt, assistant(`{"type":"text","text":" "}`)):                         nil,
		thinkOn + "," + said(aPrompt, aCall, aResult, assistant(text)):                                 nil,
		said(aPrompt, assistant(text)):                                                                 nil,
		opus46 + "," + thinkOn + "," + said(aPrompt, assistant(text)):                                  nil,
	} {
		if got := (row{id: "A-54"}).reported(t, body); !slices.Equal(got, want) {
			t.Errorf("%s: reported at %v, want %v", body, got, want)
		}
	}
}

// TestThinkingToClear holds that the edit that clears thinking comes with thinking and first
// . The edit needs a beta, so its rows are not among those of parameters.
func TestThinkingToClear(t *testing.T) {
	const clears, tools = `{"type":"clear_thinking_20251015","keep":"all"}`, `{"type":"clear_tool_uses_20250919"}`
	edits := func(list ...string) string {
		return `"context_management":{"edits":[` + strings.Join(list, ",") + `]}`
	}
	const unasked = "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
	for _, c := range []struct{ body, id, says string }{
		{edits(clears), "A-53", unasked},
		{opus46 + "," + edits(clears), "A-53", unasked},
		{edits(tools, clears) + "," + thinkOn, "A-55",
			"context_management.edits: `clear_thinking_20251015` must be listed first"},
		{edits(clears, tools) + "," + thinkOn, "", ""},
		{edits(tools, clears), "A-53", unasked},
		{edits(clears) + "," + thinkOn, "", ""},
		{opus46 + "," + edits(clears) + `,"thinking":{"type":"adaptive"}`, "", ""},
		{edits(tools), "", ""},
	} {
		got := cmp.Or(check(with(t, c.body), "Anthropic-Beta: context-management-2025-06-27"), &rule.Refusal{})
		if got.Rule != c.id || got.Message != c.says {
			t.Errorf("%s: %s %q, want %s %q", c.body, got.Rule, got.Message, c.id, c.says)
		}
	}
}
