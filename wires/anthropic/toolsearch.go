package anthropic

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// kindToolSearch is a search for a deferred tool. No scenario asks for one: it precedes
// the call of a tool that is not loaded.
const kindToolSearch specs.BlockKind = "tool_search"

// toolSearchTool begins the types and names of the tools that search for others.
const toolSearchTool = "tool_search_tool_"

// deferred are the deferred tools of a request by name, and what searches for them, "" for
// nothing.
func deferred(root *tree.Node) (names map[string]bool, search string) {
	names = map[string]bool{}
	for _, t := range root.Get("tools").List() {
		switch {
		case strings.HasPrefix(t.Get("type").Text(), toolSearchTool):
			search = t.Get("name").Text()
		case t.Get("defer_loading").True():
			names[t.Get("name").Text()] = true
		}
	}
	return names, search
}

// references are the tools that results of a conversation refer to, in order: these are
// loaded. Arguments of a call that look like a reference are none.
func references(messages *tree.Node) (names []string) {
	for _, m := range messages.List() {
		names = append(names, referencesAmong(m.Get("content"))...)
	}
	return names
}

// referencesAmong are those in blocks, and in the results among them.
func referencesAmong(blocks *tree.Node) (names []string) {
	for _, b := range blocks.List() {
		if b.Get("type").Text() == "tool_reference" {
			names = append(names, b.Get("tool_name").Text())
		}
		result := b.Get("content")
		names = append(append(names, referencesAmong(result)...), referencesAmong(result.Get("tool_references"))...)
	}
	return names
}

// CallableTools are the names of the tools of a request that the model can call, in order:
// those that are loaded, and those that it can search for. The slice is the caller's.
func CallableTools(root *tree.Node) (names []string) {
	late, search := deferred(root)
	if search == "" && len(late) > 0 {
		for _, name := range references(root.Get("messages")) {
			delete(late, name)
		}
	} else {
		late = nil
	}
	for _, t := range root.Get("tools").List() {
		if name := t.Get("name").Text(); !late[name] {
			names = append(names, name)
		}
	}
	return names
}

// withSearches is a reply that searches for each deferred tool before it calls it first.
func withSearches(r script.Reply) script.Reply {
	late, search := deferred(r.Request.Document)
	if search == "" || len(late) == 0 {
		return r
	}
	for _, name := range references(r.Request.Document.Get("messages")) {
		delete(late, name)
	}
	var blocks []script.Block
	for _, b := range r.Blocks {
		if b.Kind == specs.KindCall && late[b.Name] {
			delete(late, b.Name)
			blocks = append(blocks, script.Block{Kind: kindToolSearch, Name: b.Name, Text: search})
		}
		blocks = append(blocks, b)
	}
	r.Blocks = blocks
	return r
}

// someToolLoaded refuses a request whose tools are all deferred.
func someToolLoaded(c *call, _ rule.Env) *rule.Refusal {
	tools := c.root.Get("tools").List()
	for i := range tools {
		if !tools[i].Get("defer_loading").True() {
			return nil
		}
	}
	return invalidIf(len(tools) > 0, "All tools have defer_loading set. At least one tool must be non-deferred.")
}

// searchLoaded refuses a search for tools that is deferred itself.
func searchLoaded(c *call, _ rule.Env) *rule.Refusal {
	for i, t := range c.root.Get("tools").List() {
		if strings.HasPrefix(t.Get("type").Text(), toolSearchTool) && t.Get("defer_loading").True() {
			return invalid("tools.%d.%s.defer_loading: Extra inputs are not permitted", i, t.Get("type").Text())
		}
	}
	return nil
}

// referencesDeclared refuses a reference to a tool that the request does not have.
func referencesDeclared(c *call, _ rule.Env) *rule.Refusal {
	declared := map[string]bool{}
	for _, t := range c.root.Get("tools").List() {
		if t.Get("type").Text() == "mcp_toolset" {
			return nil // its tools are not known here
		}
		declared[t.Get("name").Text()] = true
	}
	for _, name := range references(c.root.Get("messages")) {
		if !declared[name] {
			return invalid("Tool reference '%s' has no corresponding tool definition", name)
		}
	}
	return nil
}
