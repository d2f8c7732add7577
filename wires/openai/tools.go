package openai

import (
	"github.com/meerkat-go/conformance/wires/tree"
)

// clientTool is what a call needs to know of a tool that the client runs.
type clientTool struct {
	name, namespace string
	custom          bool // takes a text
	search          bool // finds tools that are not listed
	// deferred is set for a tool that has to be searched for, found where a search has.
	deferred, found bool
}

// toolsOf are the tools that a request and its items bring along, in order, those
// of namespaces too. A tool of the provider has its name, or none.
func toolsOf(q *request) []clientTool {
	all := appendTools(nil, "", q.body.List("tools"))
	for i := range q.items {
		n := len(all)
		all = appendTools(all, "", q.items[i].List("tools"))
		for j := range all[n:] {
			all[n+j].found = q.items[i].typ == "tool_search_output"
		}
	}
	return all
}

func appendTools(all []clientTool, namespace string, tools []*tree.Node) []clientTool {
	for i := range tools {
		t := tools[i]
		name, kind := t.Text("name"), t.Text("type")
		switch {
		case kind == "namespace":
			all = appendTools(all, name, t.List("tools"))
		case kind == "tool_search" && t.Text("execution") == "client":
			all = append(all, clientTool{name: kind, search: true})
		default:
			all = append(all, clientTool{name: name, namespace: namespace, custom: kind == "custom", deferred: t.True("defer_loading")})
		}
	}
	return all
}

// clientTool is the first tool of a name.
func (q *request) clientTool(name string) clientTool {
	for _, t := range q.tools {
		if t.name == name {
			return t
		}
	}
	return clientTool{name: name}
}
