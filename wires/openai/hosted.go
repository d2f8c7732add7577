package openai

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
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
		s.addEvent("code_interpreter_call_code.delta", "delta", piece, "item_id", id, "obfuscation",
			s.obfuscationOf(piece), "output_index", s.output)
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
	item := script.Object{"id", s.ID("fut_", 0, script.Hex, 50), "type", script.FutureItem, "status", "completed",
		"note", "new"}
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
			all = append(all, script.Block{Kind: kindToolSearch, Name: b.Name},
				script.Block{Kind: kindToolsFound, Name: b.Name})
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
	return script.Object{"id", v.itemID(n), "type", "tool_search_output", "status", status, "call_id", nil, "execution",
		"server", "tools", found}
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
			p.Report(it.path(), "the call of %s names no namespace; the tool is in %q alone",
				strings.TrimPrefix(it.label(), "tool call "), rule.Shorten(space[name])).
				Refuse(invalid("", "input",
					"Missing namespace for function_call '%s'. It does not exist in the default namespace.", name))
		}
	}
}

// prefixCompaction begins the ids of compaction items.
const prefixCompaction = "cmp_"

// wantsCompaction reports whether the request asks for a compaction of what is longer
// than a threshold, and is longer.
func (q *request) wantsCompaction(tokens int) bool {
	for _, edit := range q.body.List("context_management") {
		threshold, limited := edit.Get("compact_threshold").Whole()
		if edit.Text("type") == "compaction" && limited && tokens > threshold {
			return true
		}
	}
	return false
}

// compactionItem is the item that stands for the conversation so far. Like that of
// reasoning, its encrypted content is bound to its id and differs when it is done.
func (v *signedReply) compactionItem(stage seal.Stage) script.Object {
	id := v.ID(prefixCompaction, 0, script.Hex, 50)
	b := binding{id: id, family: v.q.model.Family, account: v.q.account}
	return script.Object{"id", id, "type", "compaction", "encrypted_content",
		v.Key.Fernet(seal.Facts{Origin: originEncrypted}, b.place(), stage, v.At)}
}

// addCompaction ends the output with a compaction, when it is due.
func (s *stream) addCompaction() {
	if total, _ := s.q.measurePrompt(); !s.q.wantsCompaction(total) {
		return
	}
	if s.Request.Form != script.FormUnary {
		s.addItem(s.compactionItem(seal.StageAdded))
		s.addEvent("output_item.done", "item", s.compactionItem(seal.StageDone), "output_index", s.output)
		s.output++
	}
	s.items = append(s.items, s.compactionItem(seal.StageCompleted))
}

// compactPath is that of the call that returns a conversation compacted.
const compactPath = "/v1/responses/compact"

// Window is the body that answers a request for a compacted conversation: the messages of
// the user as they came, and one compaction that stands for all the rest.
func Window(r script.Reply) []byte {
	v := newSignedReply(r)
	output := script.Array{}
	for i := range v.q.items {
		if it := &v.q.items[i]; it.Text("role") == "user" {
			output = append(output, v.keptMessage(i, it))
		}
	}
	output = append(output, v.compactionItem(seal.StageCompleted))
	return script.JSON(script.Object{
		"id", v.responseID(), "object", "response.compaction", "created_at", v.At.Unix(), "output", output,
		"usage", v.q.usageObject(v.Roll("compacted", 50, 400), 0),
	})
}

// keptMessage is a message of the user, the n-th item, with the id that it has from now on.
func (v *signedReply) keptMessage(n int, it *item) script.Object {
	id, content := any(it.id), any(it.Get("content"))
	if it.id == "" {
		id = v.ID("msg_", n+1, script.Hex, 50)
	}
	if it.Get("content").Is(tree.String) {
		content = script.Array{script.Object{"type", "input_text", "text", it.Get("content")}}
	}
	return script.Object{"id", id, "type", "message", "status", "completed", "content", content, "role", "user"}
}
