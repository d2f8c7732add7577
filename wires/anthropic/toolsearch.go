package anthropic

import (
	"fmt"
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

// deferredNames are the deferred tools of a request by name, and what searches for them, "" for
// nothing.
func deferredNames(root *tree.Node) (names map[string]bool, search string) {
	names = map[string]bool{}
	for _, t := range root.List("tools") {
		switch {
		case strings.HasPrefix(t.Text("type"), toolSearchTool):
			search = t.Text("name")
		case t.True("defer_loading"):
			names[t.Text("name")] = true
		}
	}
	return names, search
}

// referencedNames are the tools that results of a conversation refer to, in order: these are
// loaded. Arguments of a call that look like a reference are none.
func referencedNames(messages *tree.Node) (names []string) {
	for _, m := range messages.List() {
		names = append(names, referencesAmong(m.Get("content"))...)
	}
	return names
}

// referencesAmong are those in blocks, and in the results among them.
func referencesAmong(blocks *tree.Node) (names []string) {
	for _, b := range blocks.List() {
		if b.Text("type") == "tool_reference" {
			names = append(names, b.Text("tool_name"))
		}
		result := b.Get("content")
		names = append(append(names, referencesAmong(result)...), referencesAmong(result.Get("tool_references"))...)
	}
	return names
}

// CallableTools are the names of the tools of a request that the model can call, in order:
// those that are loaded, and those that it can search for. The slice is the caller's.
func CallableTools(root *tree.Node) (names []string) {
	late, search := deferredNames(root)
	if search == "" && len(late) > 0 {
		for _, name := range referencedNames(root.Get("messages")) {
			delete(late, name)
		}
	} else {
		late = nil
	}
	for _, t := range root.List("tools") {
		if name := t.Text("name"); !late[name] {
			names = append(names, name)
		}
	}
	return names
}

// withSearches is a reply that searches for each deferred tool before it calls it first.
func withSearches(r script.Reply) script.Reply {
	late, search := deferredNames(r.Request.Document)
	if search == "" || len(late) == 0 {
		return r
	}
	for _, name := range referencedNames(r.Request.Document.Get("messages")) {
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

// someToolLoaded: a model without any tool cannot search for one.
func someToolLoaded(c *call, p *rule.Pass) {
	tools, loaded := c.root.List("tools"), 0
	for _, t := range tools {
		if !t.True("defer_loading") {
			loaded++
		}
	}
	if loaded == len(tools) {
		return
	}
	if p.Observe(); loaded == 0 {
		p.Report("tools", "all %d tools of the request are deferred", len(tools)).
			Refuse(invalid("All tools have defer_loading set. At least one tool must be non-deferred."))
	}
}

// searchLoaded: the tool that finds the others is not deferred itself.
func searchLoaded(c *call, p *rule.Pass) {
	for i, t := range c.root.List("tools") {
		if kind := t.Text("type"); strings.HasPrefix(kind, toolSearchTool) {
			if p.Observe(); t.True("defer_loading") {
				p.Report(fmt.Sprintf("tools[%d]", i), "the tool that searches is deferred itself").
					Refuse(invalid("tools.%d.%s.defer_loading: Extra inputs are not permitted", i, kind))
			}
		}
	}
}

// referencesDeclared: servers and messages of the system bring tools of their own.
func referencesDeclared(c *call, p *rule.Pass) {
	if c.root.Given("mcp_servers") != nil {
		return
	}
	for range c.blocksOf("tool_addition") {
		return
	}
	declared := map[string]bool{}
	for _, t := range c.root.List("tools") {
		if t.Text("type") == "mcp_toolset" {
			return
		}
		declared[t.Text("name")] = true
	}
	for _, m := range c.said {
		for _, b := range m.blocks {
			for _, name := range referencesAmong(tree.NewArray(b.Node)) {
				if p.Observe(); !declared[name] {
					p.Report(b.place(), "the tool %q that a search found is not among the tools of the request", rule.Shorten(name)).
						Refuse(invalid("Tool reference '%s' has no corresponding tool definition", name))
				}
			}
		}
	}
}
