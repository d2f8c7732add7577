package openai

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// isHosted reports whether the provider runs the block's tool itself.
func isHosted(b script.Block) bool { return b.Kind == specs.KindSearch || b.Kind == specs.KindCode }

// hostedItem is the item of a tool that the provider runs (reference §3.2). What it
// found and what code printed are shown to those who ask for it.
func (v *signedReply) hostedItem(n int, status string, done bool) script.Object {
	b := v.Blocks[n]
	if b.Kind == specs.KindSearch {
		action := script.Object{"type", "search"}
		if done {
			action = append(action, "queries", script.Array{b.Search.Query}, "query", b.Search.Query)
		}
		if done && v.q.includesResult("web_search_call.action.sources") {
			action = append(action, "sources", sources(b.Search))
		}
		return script.Object{"id", v.itemID(n), "type", "web_search_call", "status", status, "action", action}
	}
	var source string
	var outputs any
	if done {
		source = b.Code.Source
	}
	if v.q.includesResult("code_interpreter_call.outputs") {
		outputs = script.Array{}
		if done && b.Code.Output != "" {
			outputs = script.Array{script.Object{"type", "logs", "logs", b.Code.Output}}
		}
	}
	return script.Object{"id", v.itemID(n), "type", "code_interpreter_call", "status", status, "code", source,
		"container_id", v.ID("cntr_", 0, script.Hex, 48), "outputs", outputs}
}

func sources(s *specs.Search) script.Array {
	all := script.Array{}
	for _, f := range s.Results {
		all = append(all, script.Object{"type", "url", "url", f.URL})
	}
	return all
}

// includesResult reports whether the request includes what is left out otherwise.
func (q *request) includesResult(what string) bool {
	return slices.ContainsFunc(q.body.List("include"), func(v *tree.Node) bool { return v.Text() == what })
}

// addHosted tells how the provider's own tool gets on.
func (s *stream) addHosted(n int, b script.Block) {
	id := s.itemID(n)
	say := func(name string) { s.addEvent(name, "item_id", id, "output_index", s.output) }
	if b.Kind == specs.KindSearch {
		say("web_search_call.in_progress")
		say("web_search_call.searching")
		say("web_search_call.completed")
		return
	}
	say("code_interpreter_call.in_progress")
	for _, piece := range script.Slices(b.Code.Source, 4) {
		s.addEvent("code_interpreter_call_code.delta", "delta", piece, "item_id", id, "obfuscation", s.obfuscationOf(piece), "output_index", s.output)
	}
	s.addEvent("code_interpreter_call_code.done", "code", b.Code.Source, "item_id", id, "output_index", s.output)
	say("code_interpreter_call.interpreting")
	say("code_interpreter_call.completed")
}

// addFutureItem is an item of an unknown type.
func (s *stream) addFutureItem() {
	if !script.Greased(s.Reply, specs.GreaseBlock) {
		return
	}
	item := script.Object{"id", s.ID("fut_", 0, script.Hex, 50), "type", script.FutureItem, "status", "completed", "note", "new"}
	if s.Request.Form != script.FormUnary {
		s.addItem(item)
		s.addEvent("output_item.done", "item", item, "output_index", s.output)
		s.output++
	}
	s.items = append(s.items, item)
}

func refusalPart(text string) script.Object { return script.Object{"type", "refusal", "refusal", text} }

// contentPart is what the message of a block holds in this reply.
func (v *signedReply) contentPart(text string) script.Object {
	if v.Stop == specs.StopRefusal {
		return refusalPart(text)
	}
	return textPart(text)
}

// streamed are the arguments of a call: all of them, or as far as the tokens
// went.
func streamed(b script.Block) string {
	if b.Partial {
		return string(b.Args)
	}
	return string(b.Arguments())
}
