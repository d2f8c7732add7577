package check

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// namespaceRules judge tools that are loaded when they are needed (R51).
var namespaceRules = map[string]rule{
	"NSP-001/kept":      toolSearchKept,
	"NSP-002/answered":  toolSearchAnswered,
	"NSP-002/no-orphan": toolSearchOrphan,
	"NSP-005/named":     callsNameNamespace,
}

// isToolSearch reports whether an item is a search for tools or what it found.
func isToolSearch(it *wire.Item) bool {
	return it.Type == "tool_search_call" || it.Type == "tool_search_output" || it.Type == "tool_search_tool_result" ||
		it.Type == "server_tool_use" && strings.HasPrefix(it.Begun().Get("name").Text(), "tool_search_tool")
}

// toolSearchKept: what loaded a tool stays in the history with the calls of that tool.
func toolSearchKept(s *Trace, r *report) {
	for _, l := range s.links {
		if l.to.isKeptByProvider() || !sendsCallBack(l) {
			continue
		}
		for i := range l.from.reply.Items {
			it := &l.from.reply.Items[i]
			if !isToolSearch(it) {
				continue
			}
			r.addObserved(1)
			if !l.sends(i) {
				r.addLostItem(l, i, "", "%s is not sent back, and a call of a tool that the search loaded is", it.Type)
			}
		}
	}
}

// sendsCallBack reports whether a call of the linked reply is sent back.
func sendsCallBack(l *link) bool {
	for _, p := range l.pairs {
		if l.reply(p.r).What == wire.Call {
			return true
		}
	}
	return false
}

// sends reports whether item i of the linked reply is sent back.
func (l *link) sends(i int) bool {
	for _, p := range l.pairs {
		if p.r == i {
			return true
		}
	}
	return false
}

// isClientSearch reports whether the client is to answer a search for tools.
func isClientSearch(it *wire.Item, kind string) bool {
	return it.Type == kind && it.Node.Get("execution").Text() == "client"
}

// toolSearchAnswered: a search that the client runs has its output after it. The output of
// a function answers one as well.
func toolSearchAnswered(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		last := map[string]int{}
		for i := range x.req.Items {
			if it := &x.req.Items[i]; isClientSearch(it, "tool_search_output") || it.What == wire.Result {
				last[it.ID] = i + 1
			}
		}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if !isClientSearch(it, "tool_search_call") {
				continue
			}
			r.addObserved(1)
			if last[it.ID] <= i {
				r.addFinding(x, it.Place, "O-10", "the search for tools %s has no output after it", cutText(it.ID, 64))
			}
		}
	})
}

// toolSearchOrphan: an output answers a search that the provider can see.
func toolSearchOrphan(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		asked := map[string]bool{}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			asked[it.ID] = asked[it.ID] || isClientSearch(it, "tool_search_call")
			if !isClientSearch(it, "tool_search_output") || x.isKeptByProvider() {
				continue
			}
			r.addObserved(1)
			if !asked[it.ID] {
				r.addFinding(x, it.Place, "O-11", "the output %s answers no search for tools before it", cutText(it.ID, 64))
			}
		}
	})
}

// callsNameNamespace: a call names the namespace of a tool that is in none of the default
// ones (O-32). Calls of another provider come without one.
func callsNameNamespace(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.OpenAI, func(x *exchange) {
		plain, spaces := x.toolsOfNamespaces()
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if it.What != wire.Call || spaces[it.Name] == "" || plain[it.Name] {
				continue
			}
			r.addObserved(1)
			if it.Node.Get("namespace").Text() == "" {
				r.addFinding(x, it.Place, "O-32", "the call of %s names no namespace; the tool is in %q alone", nameOf(it), cutText(spaces[it.Name], 60))
			}
		}
	})
}

// toolsOfNamespaces lists the tools that are in the default namespace, and for each other
// one a namespace that it is in.
func (x *exchange) toolsOfNamespaces() (plain map[string]bool, spaces map[string]string) {
	plain, spaces = map[string]bool{}, map[string]string{}
	for _, t := range x.req.Tools.List() {
		addTool(t, plain, spaces)
	}
	for i := range x.req.Items {
		if it := &x.req.Items[i]; it.Type == "tool_search_output" || it.Type == "additional_tools" {
			for _, t := range it.Node.Get("tools").List() {
				addTool(t, plain, spaces)
			}
		}
	}
	return plain, spaces
}

// addTool enters a tool, or those inside a namespace. A deferred tool is in a namespace of
// its own name.
func addTool(t *tree.Node, plain map[string]bool, spaces map[string]string) {
	name := t.Get("name").Text()
	switch {
	case t.Get("type").Text() == "namespace":
		for _, inner := range t.Get("tools").List() {
			spaces[inner.Get("name").Text()] = name
		}
	case t.Get("defer_loading").True():
		spaces[name] = name
	default:
		plain[name] = true
	}
}
