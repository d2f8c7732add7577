package check

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// namespaceRules judge tools that are loaded when they are needed (R51).
var namespaceRules = map[string]rule{
	"NSP-001/kept":      toolSearchKept,
	"NSP-002/answered":  toolSearchAnswered,
	"NSP-002/no-orphan": toolSearchOrphan,
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
