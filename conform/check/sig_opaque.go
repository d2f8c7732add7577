package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// opaqueRules judge what a client carries without understanding it.
var opaqueRules = map[string]rule{
	"SIG-021/encrypted":      encryptedKept,
	"SIG-021/namespace":      namespaceKept,
	"SIG-021/server-results": serverResultsKept,
	"NSP-001/kept":           toolSearchKept,
}

// encryptedNames are the members in which the provider keeps state of its own tools and
// of compaction.
var encryptedNames = []string{"encrypted_content", "encrypted_index", "encrypted_stdout", "encrypted_stderr"}

// encryptedKept: search results, code output and compaction hold ciphertext for the
// provider, which comes back byte for byte.
func encryptedKept(s *Trace, r *report) {
	s.eachPair("", wire.Opaque, func(l *link, _ pair, was, is *wire.Item) {
		issued, sent := encryptedIn(was.Node, nil), encryptedIn(is.Node, nil)
		r.addObserved(len(issued))
		for i, n := range issued {
			at := wire.Place{Event: was.Place.Event, Off: was.Place.Off, Path: was.Place.Path}
			switch {
			case i >= len(sent):
				r.addChange(l, is.Place, at, "", "%s is sent back without ciphertext that it was issued with", is.Type)
				return
			case n.Text() != sent[i].Text():
				r.addChange(l, wire.At(sent[i], is.Place.Path), at, "", "ciphertext in %s %s", is.Type, describeDifference(n.Text(), sent[i].Text()))
				return
			}
		}
	})
}

// encryptedIn lists the ciphertexts inside a node, in order.
func encryptedIn(n *tree.Node, list []*tree.Node) []*tree.Node {
	if n == nil {
		return list
	}
	for i, e := range n.Items() {
		if n.Is(tree.Object) && slices.Contains(encryptedNames, n.Names()[i]) && e.Is(tree.String) {
			list = append(list, e)
			continue
		}
		list = encryptedIn(e, list)
	}
	return list
}

func encryptedInAll(nodes []*tree.Node) (list []*tree.Node) {
	for _, n := range nodes {
		list = encryptedIn(n, list)
	}
	return list
}

// namespaceKept: a call of a tool in a namespace is found only by both names.
func namespaceKept(s *Trace, r *report) {
	s.eachPair(wires.Namespaces, wire.Call, func(l *link, _ pair, was, is *wire.Item) {
		namespace := was.Node.Text("namespace")
		if namespace == "" {
			return
		}
		r.addObserved(1)
		if got := is.Node.Text("namespace"); got != namespace {
			r.addChange(l, is.Place, was.Place, "", "tool call %s was issued in the namespace %q and is sent back in %q", nameOf(is), namespace, cutText(got, 60))
		}
	})
}

// serverResultsKept: a call of the provider's own tool stands with its result. One that
// the provider had not answered yet is in flight (ANT-S1).
func serverResultsKept(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.wire.Has(wires.ServerTools) {
			return
		}
		answered, issued := serverResults(x.req.Items), x.issuedServerResults()
		for it := range wire.Each(x.req.Items) {
			if !isServerCall(it) || !issued[it.ItemID] {
				continue
			}
			r.addObserved(1)
			if !answered[it.ItemID] {
				r.addFinding(x, it.Place, "ANT-S1", "the result of %s %s, which came with it, is not sent back", it.Type, it.ItemID)
			}
		}
	})
}

// issuedServerResults collects the ids that results of the provider's tools answer in the
// replies that the request continues.
func (x *exchange) issuedServerResults() map[string]bool {
	ids := map[string]bool{}
	for _, l := range x.replays {
		maps.Copy(ids, serverResults(l.from.reply.Items))
	}
	return ids
}

// serverResults collects the ids that results of the provider's tools answer.
func serverResults(items []wire.Item) map[string]bool {
	ids := map[string]bool{}
	for i := range items {
		if it := &items[i]; it.What == wire.Opaque && it.Node.Get("tool_use_id").Is(tree.String) {
			ids[it.Node.Text("tool_use_id")] = true
		}
	}
	return ids
}

// isToolSearch reports whether an item is a search for tools or what it found.
func isToolSearch(it *wire.Item) bool {
	return it.Type == "tool_search_call" || it.Type == "tool_search_output" || it.Type == "tool_search_tool_result" ||
		it.Type == "server_tool_use" && strings.HasPrefix(it.Begun().Text("name"), "tool_search_tool")
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
			if l.sentFor(i) == nil {
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
