package anthropic

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// originResult is the origin of what search results carry for the provider.
const originResult = "anthropic/search_result"

// isHosted reports whether the provider runs the block's tool itself.
func isHosted(b script.Block) bool {
	return b.Kind == specs.KindSearch || b.Kind == specs.KindCode || b.Kind == kindToolSearch
}

// hostedBlocks are the two blocks of a tool that the provider runs (reference §3.1):
// the call, whole, and its result.
func hostedBlocks(r script.Reply, n int, b script.Block) (use, result script.Object) {
	id, name := r.ID("srvtoolu_01", n, script.Alnum, 22), "web_search"
	var input script.Object
	var found any
	switch b.Kind {
	case kindToolSearch:
		found = script.Object{"type", "tool_search_tool_search_result", "tool_references",
			script.Array{script.Object{"type", "tool_reference", "tool_name", b.Name}}}
		return script.Object{"type", "server_tool_use", "id", id, "name", b.Text, "input",
				script.Object{"query", strings.ReplaceAll(b.Name, "_", " ")}, "caller",
				script.Object{"type", "direct"}},
			script.Object{"type", "tool_search_tool_result", "tool_use_id", id, "content", found}
	case specs.KindSearch:
		input, found = script.Object{"query", b.Search.Query}, searchResults(r, b.Search)
	default:
		name, input = codeTool(r, b.Code)
		found = script.Object{"type", name + "_result", "stdout", b.Code.Output, "stderr", "", "return_code",
			0, "content", script.Array{}}
	}
	return script.Object{"type", "server_tool_use", "id", id, "name", name, "input", input},
		append(script.Object{"type", name + "_tool_result", "tool_use_id", id, "content", found}, direct(b)...)
}

// direct says of a search that the model itself called for it.
func direct(b script.Block) script.Object {
	if b.Kind != specs.KindSearch {
		return nil
	}
	return script.Object{"caller", script.Object{"type", "direct"}}
}

// codeTool is what code is run with: the first version of the tool ran Python,
// later ones a shell.
func codeTool(r script.Reply, c *specs.Code) (name string, input script.Object) {
	asked, _ := r.Request.Parsed.(*call)
	if asked != nil {
		for _, t := range asked.root.List("tools") {
			if strings.HasPrefix(t.Text("type"), "code_execution_20250522") {
				return "code_execution", script.Object{"code", c.Source}
			}
		}
	}
	return "bash_code_execution", script.Object{"command", c.Source}
}

// searchResults are those of a search. What the provider wants back is encrypted; the
// simulator does not look at it again.
func searchResults(r script.Reply, s *specs.Search) script.Array {
	all := script.Array{}
	for i, f := range s.Results {
		token := r.Key.Envelope(seal.Facts{Origin: originResult, Content: []byte(f.Title + f.URL)},
			seal.Place{Reply: messageID(r), Ordinal: uint16(i)})
		all = append(all, script.Object{"type", "web_search_result", "title", f.Title, "url", f.URL,
			"encrypted_content", token, "page_age", nil})
	}
	return all
}

// addHosted emits the blocks of a tool of the provider: the call's input streams,
// the result is whole from the start.
func (s *stream) addHosted(n int, b script.Block) {
	use, result := hostedBlocks(s.Reply, n, b)
	const inputAt = 7 // behind type, id and name
	input := use[inputAt]
	use[inputAt] = script.Object{}
	s.startBlock(use)
	s.addDeltas("input_json_delta", "partial_json",
		append([]string{""}, script.Slices(string(script.JSON(input)), 7)...))
	s.stopBlock()
	s.startBlock(result)
	s.stopBlock()
}

// startBlock begins a content block. A ping follows the first.
func (s *stream) startBlock(block script.Object) {
	s.addEvent("content_block_start",
		script.Object{"type", "content_block_start", "index", s.index, "content_block", block})
	if s.index == 0 {
		// The data of a ping have a space that those of no other event have.
		s.frames = append(s.frames, []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"))
	}
}

func (s *stream) stopBlock() {
	s.addEvent("content_block_stop", script.Object{"type", "content_block_stop", "index", s.index})
	s.index++
}

// addFutureBlock is a block of an unknown type, and a delta of one.
func (s *stream) addFutureBlock() {
	if !script.Greased(s.Reply, specs.GreaseBlock) {
		return
	}
	s.startBlock(futureBlock())
	s.addDeltas("future_delta", "note", []string{"newer"})
	s.stopBlock()
}

func futureBlock() script.Object { return script.Object{"type", script.FutureBlock, "note", "new"} }

// countSearches adds to the usage how often the provider searched, if it did.
func countSearches(r script.Reply, used script.Object) script.Object {
	n := 0
	for _, b := range r.Blocks {
		if b.Kind == specs.KindSearch {
			n++
		}
	}
	if n == 0 {
		return used
	}
	return append(used, "server_tool_use", script.Object{"web_search_requests", n, "web_fetch_requests", 0})
}

// details say more of a refusal.
func details(r script.Reply) any {
	if r.Stop != specs.StopRefusal {
		return nil
	}
	return script.Object{"type", "refusal", "category", nil, "explanation", nil}
}

// maxCited is how many characters of a document are cited.
const maxCited = 80

// citationOf is what the last text of a reply cites: the beginning of the first
// document of plain text whose citations are enabled. ok is false without one.
func citationOf(root *tree.Node) (citation script.Object, ok bool) {
	index := 0
	for _, m := range root.List("messages") {
		for _, b := range m.List("content") {
			if b.Text("type") != "document" {
				continue
			}
			text := b.Text("source", "data")
			if b.Given("citations").True("enabled") && b.Text("source", "type") == "text" && text != "" {
				cited := firstCharacters(text, maxCited)
				var title any
				if t := b.Given("title"); t != nil {
					title = t
				}
				return script.Object{"type", "char_location", "cited_text", cited, "document_index", index,
					"document_title", title,
					"start_char_index", 0, "end_char_index", utf8.RuneCountInString(cited), "file_id", nil}, true
			}
			index++
		}
	}
	return nil, false
}

func firstCharacters(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most])
	}
	return text
}

// originIndex is the origin of what a citation of a search result carries for the provider.
const originIndex = "anthropic/search_index"

const searchLocation = "web_search_result_location"

// citesSearch reports whether a citation is of a search result.
func citesSearch(citation script.Object) bool { return citation[1] == searchLocation }

// citedResult is what a text behind a search cites: its first result.
func citedResult(r script.Reply, n int) (citation script.Object, ok bool) {
	for i, b := range slices.Backward(r.Blocks[:n]) {
		if b.Kind != specs.KindSearch || len(b.Search.Results) == 0 {
			continue
		}
		found := b.Search.Results[0]
		token := r.Key.Envelope(seal.Facts{Origin: originIndex, Content: []byte(found.URL)},
			seal.Place{Reply: messageID(r), Ordinal: uint16(i)}) //nolint:gosec // a reply has few blocks
		return script.Object{"type", searchLocation, "cited_text", firstCharacters(found.Title, maxCited), "url",
			found.URL, "title", found.Title, "encrypted_index", token}, true
	}
	return nil, false
}

// citesAt returns the citation of block n: the last text of a reply has it, when
// one is asked for or the reply searched.
func citesAt(r script.Reply, n int) (script.Object, bool) {
	for _, later := range r.Blocks[n+1:] {
		if isSpoken(later) {
			return nil, false
		}
	}
	if !isSpoken(r.Blocks[n]) {
		return nil, false
	}
	if citation, ok := citedResult(r, n); ok {
		return citation, true
	}
	return citationOf(r.Request.Document)
}

func isSpoken(b script.Block) bool {
	return (b.Kind == specs.KindText || b.Kind == specs.KindSignedText) && b.Text != ""
}

// The edit that asks for a compaction when the prompt is longer than a threshold, with
// the smallest and the usual threshold.
const (
	betaCompact  = "compact-2026-01-12"
	compactEdit  = "compact_20260112"
	leastTrigger = 50_000
	usualTrigger = 150_000
)

// originCompaction is the origin of what a compaction carries for the provider.
const originCompaction = "anthropic/compaction"

// triggerFits holds the threshold of a compaction to its limit.
func triggerFits(c *call, _ rule.Env) *rule.Refusal {
	for i, edit := range c.root.Given("context_management").List("edits") {
		if trigger, given := triggerOf(edit); given && trigger < leastTrigger && edit.Text("type") == compactEdit {
			return invalid("context_management.edits.%d.%s: trigger.value must be at least %d", i, compactEdit,
				leastTrigger)
		}
	}
	return nil
}

// triggerOf returns the threshold of a compaction, and whether the edit names one.
func triggerOf(edit *tree.Node) (tokens int, given bool) {
	if edit.Given("trigger") == nil {
		return usualTrigger, false
	}
	tokens, _ = edit.Get("trigger", "value").Whole()
	return tokens, true
}

// compaction is the block that a reply begins with when it compacts the conversation, and
// what its making took: one reads the conversation to write a summary of it.
type compaction struct {
	summary string
	token   string
	took    spent
}

// compactionOf returns the compaction that is due with a reply, nil if none is.
func compactionOf(r script.Reply) *compaction {
	c, ok := r.Request.Parsed.(*call)
	if !ok || !c.hasBeta(betaCompact) {
		return nil
	}
	for _, edit := range c.root.Given("context_management").List("edits") {
		if edit.Text("type") != compactEdit {
			continue
		}
		all := measurePrompt(c.root)
		if trigger, _ := triggerOf(edit); all.total <= trigger {
			return nil
		}
		made := &compaction{summary: fmt.Sprintf("Summary of the conversation: it had %d tokens in %d messages.",
			all.total, len(c.said)), took: all.splitByCache()}
		made.token = r.Key.Envelope(seal.Facts{Origin: originCompaction, Content: []byte(made.summary)},
			seal.Place{Reply: messageID(r)})
		return made
	}
	return nil
}

// block is the compaction as it is whole.
func (c *compaction) block() script.Object {
	return script.Object{"type", "compaction", "content", c.summary, "encrypted_content", c.token}
}

// node is the block as the next request carries it.
func (c *compaction) node() block {
	in, _ := tree.ParseStrict(script.JSON(c.block()), tree.MaxDepth)
	return block{kind: "compaction", Node: in}
}

// addCompaction begins the reply with a compaction, when it is due. It comes in one delta.
func (s *stream) addCompaction() {
	if s.compaction == nil {
		return
	}
	s.startBlock(script.Object{"type", "compaction", "content", nil})
	s.addEvent("content_block_delta", script.Object{"type", "content_block_delta", "index", s.index,
		"delta", script.Object{"type", "compaction_delta", "content", s.compaction.summary, "encrypted_content",
			s.compaction.token}})
	s.stopBlock()
}

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
					p.Report(b.place(), "the tool %q that a search found is not among the tools of the request",
						rule.Shorten(name)).
						Refuse(invalid("Tool reference '%s' has no corresponding tool definition", name))
				}
			}
		}
	}
}
