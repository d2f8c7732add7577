package check

import (
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// partForm: a block holds what the provider takes in a block of its kind from
// who says it.
func partForm(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		switch x.Provider {
		case evidence.Anthropic:
			for i := range x.req.Items {
				anthropicPart(x, r, &x.req.Items[i])
			}
		case evidence.OpenAI:
			for _, m := range x.req.Msgs {
				openAIParts(x, r, m)
			}
		}
	})
}

func anthropicPart(x *exchange, r *report, it *wire.Item) {
	switch {
	case it.Continuity():
		r.addObserved(1)
		if !it.Node.Get("cache_control").Null() {
			r.addFinding(x, it.Place, "A-44", "%s carries cache_control", it.What)
		}
	case it.What == wire.Result && it.IsError:
		r.addObserved(1)
		if isEmptyContent(it.Node.Get("content")) {
			r.addFinding(x, it.Place, "A-47", "error result %s says nothing", it.ID)
		}
	}
}

// isEmptyContent reports whether a result's content, a string or blocks, holds nothing.
func isEmptyContent(content *wire.Node) bool {
	for _, b := range content.Elems() {
		if b.Get("type").Str() != "text" || b.Get("text").Str() != "" {
			return false
		}
	}
	return content.Str() == ""
}

// openAIParts leaves the content of reasoning alone (O-17): a recording of a
// compatible host shows it sent back and taken.
func openAIParts(x *exchange, r *report, m wire.Msg) {
	at := func(n *wire.Node, path string) wire.Place {
		return wire.Place{Event: -1, Off: n.Off, Path: m.Path + path}
	}
	assistant := m.Node.Get("role").Str() == "assistant"
	for j, p := range m.Node.Get("content").Elems() {
		kind := p.Get("type").Str()
		switch {
		case assistant:
			r.addObserved(1)
			if strings.HasPrefix(kind, "input_") {
				r.addFinding(x, at(p, ".content["+strconv.Itoa(j)+"]"), "O-16", "the assistant says %q, which only the client can", kind)
			}
		case m.Node.Get("role").Str() != "":
			r.addObserved(1)
			if kind == "output_text" || kind == "refusal" {
				r.addFinding(x, at(p, ".content["+strconv.Itoa(j)+"]"), "O-16", "%s says %q, which only the assistant can", m.Node.Get("role").Str(), kind)
			}
		}
	}
}
