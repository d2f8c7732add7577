package check

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// namespaceRules judge tools that are loaded when they are needed (R51).
var namespaceRules = map[string]rule{
	"NSP-001/kept": toolSearchKept,
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
