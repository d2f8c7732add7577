package anthropic

import (
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
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
		found = script.Object{"type", "tool_search_tool_search_result", "tool_references", script.Array{script.Object{"type", "tool_reference", "tool_name", b.Name}}}
		return script.Object{"type", "server_tool_use", "id", id, "name", b.Text, "input", script.Object{"query", strings.ReplaceAll(b.Name, "_", " ")}, "caller", script.Object{"type", "direct"}},
			script.Object{"type", "tool_search_tool_result", "tool_use_id", id, "content", found}
	case specs.KindSearch:
		input, found = script.Object{"query", b.Search.Query}, searchResults(r, b.Search)
	default:
		name, input = codeTool(r, b.Code)
		found = script.Object{"type", name + "_result", "stdout", b.Code.Output, "stderr", "", "return_code", 0, "content", script.Array{}}
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
		token := r.Key.Envelope(seal.Facts{Origin: originResult, Content: []byte(f.Title + f.URL)}, seal.Place{Reply: messageID(r), Ordinal: uint16(i)})
		all = append(all, script.Object{"type", "web_search_result", "title", f.Title, "url", f.URL, "encrypted_content", token, "page_age", nil})
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
	s.addDeltas("input_json_delta", "partial_json", append([]string{""}, script.Slices(string(script.JSON(input)), 7)...))
	s.stopBlock()
	s.startBlock(result)
	s.stopBlock()
}

// startBlock begins a content block. A ping follows the first.
func (s *stream) startBlock(block script.Object) {
	s.addEvent("content_block_start", script.Object{"type", "content_block_start", "index", s.index, "content_block", block})
	if s.index == 0 {
		s.addPing()
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
