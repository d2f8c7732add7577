package mutant

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// namespaceMutants touch tools that are loaded when they are needed.
var namespaceMutants = []Mutant{
	{"forget-search", "leaves out what a search for tools found", []string{"NSP-001"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return (it.Type == "tool_search_output" || it.Type == "tool_search_tool_result") && it.Model() && e.removeItem(it)
		})
	})},
	{"no-search-output", "does not answer a search for tools", []string{"NSP-002"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.Type == "tool_search_output" && !it.Model() && e.removeItem(it)
		})
	}, evidence.OpenAI)},
	{"orphan-search-output", "answers a search for tools that it leaves out", []string{"NSP-002"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.Type == "tool_search_call" && it.Node.Get("execution").Text() == "client" && e.removeItem(it)
		})
	}, evidence.OpenAI)},
	{"drop-found-tool", "takes a tool away that a search found", []string{"NSP-003"}, changeRequest(func(e *editor) bool {
		return e.eachFunction(func(function, _ *tree.Node) bool {
			return function.Get("defer_loading").True() && e.refersToTool(function.Get("name")) && setMember(function, "name", jsonString("another_tool"))
		})
	}, evidence.Anthropic)},
	{"defer-all", "defers every tool", []string{"NSP-004"}, changeRequest(func(e *editor) bool {
		deferred := false
		for _, t := range e.doc.Get("tools").List() {
			deferred = deferred || t.Get("defer_loading").True()
			setMember(t, "defer_loading", mustParse("true"))
		}
		return deferred
	}, evidence.Anthropic)},
	{"defer-search", "defers the tool that searches", []string{"NSP-004"}, changeRequest(func(e *editor) bool {
		tools := e.doc.Get("tools").List()
		for _, t := range tools {
			if len(tools) > 1 && strings.HasPrefix(t.Get("type").Text(), "tool_search_tool") {
				return setMember(t, "defer_loading", mustParse("true"))
			}
		}
		return false
	}, evidence.Anthropic)},
}

// refersToTool reports whether a search of the conversation found the tool with a name.
func (e *editor) refersToTool(name *tree.Node) bool {
	reference := slices.Concat([]byte(`"tool_name":`), tree.Encode(name))
	return e.findItem(func(_ int, it *wire.Item) bool {
		return it.Type == "tool_search_tool_result" && it.Node != nil && bytes.Contains(tree.Encode(it.Node), reference)
	}) >= 0
}
