package openai

import (
	"cmp"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// A search for a deferred tool, and what it found. No scenario asks for one: both precede
// the first call of a tool that is not loaded.
const (
	kindToolSearch specs.BlockKind = "tool_search"
	kindToolsFound specs.BlockKind = "tools_found"
)

func isToolSearch(b script.Block) bool { return b.Kind == kindToolSearch || b.Kind == kindToolsFound }

// withSearches are the blocks of a reply with a search for each deferred tool before it is
// called first, where the provider is to search.
func (q *request) withSearches(blocks []script.Block) []script.Block {
	if !searchesForTools(q.body) {
		return blocks
	}
	loaded := map[string]bool{}
	for _, t := range q.tools {
		loaded[t.name] = loaded[t.name] || !t.deferred || t.found
	}
	all := make([]script.Block, 0, len(blocks))
	for _, b := range blocks {
		if isLoaded, known := loaded[b.Name]; b.Kind == specs.KindCall && known && !isLoaded {
			loaded[b.Name] = true
			all = append(all, script.Block{Kind: kindToolSearch, Name: b.Name}, script.Block{Kind: kindToolsFound, Name: b.Name})
		}
		all = append(all, b)
	}
	return all
}

// searchesForTools reports whether the provider searches for the tools that are deferred.
func searchesForTools(body *tree.Node) bool {
	for _, t := range body.List("tools") {
		if t.Text("type") == "tool_search" && t.Text("execution") != "client" {
			return true
		}
	}
	return false
}

// toolSearchItem is a search of the provider's own, or what it found: the definition of
// the tool as the request has it.
func (v *signedReply) toolSearchItem(n int, status string) script.Object {
	b := v.Blocks[n]
	if b.Kind == kindToolSearch {
		return script.Object{"id", v.itemID(n), "type", "tool_search_call", "status", status,
			"arguments", script.Object{"paths", script.Array{b.Name}}, "call_id", nil, "execution", "server"}
	}
	found := script.Array{}
	for i := range v.q.body.List("tools") {
		if t := v.q.body.List("tools")[i]; t.Text("name") == b.Name {
			found = append(found, t)
		}
	}
	return script.Object{"id", v.itemID(n), "type", "tool_search_output", "status", status, "call_id", nil, "execution", "server", "tools", found}
}

// callsNameNamespace: a call names the namespace of a tool that is in none of the default
// ones. A deferred tool is in a namespace of its own name.
func callsNameNamespace(q *request, p *rule.Pass) {
	inDefault, space := map[string]bool{}, map[string]string{}
	for _, t := range q.tools {
		if t.namespace == "" && !t.deferred {
			inDefault[t.name] = true
		} else {
			space[t.name] = cmp.Or(t.namespace, t.name)
		}
	}
	for i := range q.items {
		it := &q.items[i]
		name := it.Text("name")
		if !it.isCall() || space[name] == "" || inDefault[name] {
			continue
		}
		if p.Observe(); it.Text("namespace") == "" {
			p.Report(it.path(), "the call of %s names no namespace; the tool is in %q alone", strings.TrimPrefix(it.label(), "tool call "), rule.Shorten(space[name])).
				Refuse(invalid("", "input", "Missing namespace for function_call '%s'. It does not exist in the default namespace.", name))
		}
	}
}
