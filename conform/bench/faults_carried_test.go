package bench

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// carriedFaults touch what a client carries without understanding it: compactions, searches
// for tools, what the provider's own tools left, and betas.
var carriedFaults = []Kind{
	{Name: "compaction-id-changed", Rule: "O-15 R50", Providers: openAI, alter: onBlock(setItemID("cmp_0a1b2c3d4e5f"), isType("compaction"), hasItemID)},
	{Name: "compaction-in-plain-words", Rule: "O-15 R50", Providers: openAI, alter: onBlock(setKey("encrypted_content", `"The user asked about herons."`), isType("compaction"))},
	{Name: "compaction-to-other-host", Rule: "O-15 R50", Providers: openAI, alter: compactionElsewhere},
	{Name: "compaction-to-other-model", Rule: "O-15 R50", Providers: openAI, alter: onCompactionPage(func(p *page) { p.root.setMember("model", stringNode("gpt-5.2")) })},
	{Name: "compaction-as-text", Rule: "R50", Providers: openAI, alter: onBlock(compactionIntoText, isType("compaction"))},
	{Name: "compaction-summary-edited", Rule: "R50", Providers: anthropic, alter: onBlock(setKey("content", `"Something was said."`), isType("compaction"), isSentAfterReply)},
	{Name: "search-output-lost", Rule: "R51", Providers: openAI, alter: onBlock(dropBlock, isType("tool_search_output"), isServerSearch, isBesideLinkedCall)},
	{Name: "search-lost", Rule: "R51", Providers: openAI, alter: onBlock(dropBlock, isType("tool_search_call"), isServerSearch, isBesideLinkedCall)},
	{Name: "client-search-unanswered", Rule: "O-10 R51", Providers: openAI, alter: onBlock(dropBlock, isType("tool_search_output"), isClientSearch)},
	{Name: "client-search-orphan", Rule: "O-11 R51", Providers: openAI, alter: onBlock(dropBlock, isType("tool_search_call"), isClientSearch)},
	{Name: "found-tool-undeclared", Rule: "R51", Providers: anthropic, alter: onEveryPage(undeclareFound)},
	{Name: "every-tool-deferred", Rule: "R51", Providers: anthropic, alter: onEveryPage(deferTools)},
	{Name: "search-tool-deferred", Rule: "R51", Providers: anthropic, alter: onEveryPage(deferSearchTool)},
	{Name: "server-call-lost", Rule: "ANT-S1 R52", Providers: anthropic, alter: onBlock(dropBlock, isType("server_tool_use"), isFollowed)},
	{Name: "caller-lost", Rule: "R52", Providers: anthropic, prepare: asProgrammatic, alter: onBlock(removeKey("caller"), isKind(callBlock), isLinked, hasProgram)},
	{Name: "caller-made-direct", Rule: "R52", Providers: anthropic, prepare: asProgrammatic, alter: onBlock(setKey("caller", `{"type":"direct"}`), isKind(callBlock), isLinked, hasProgram)},
	{Name: "text-among-program-results", Rule: "R52", Providers: anthropic, prepare: asProgrammatic, alter: onNewBlock(textAfterResult, isKind(resultBlock))},
	{Name: "container-forgotten", Rule: "R52", Providers: anthropic, prepare: asProgrammatic, alter: onPage(forgetContainer)},
	{Name: "paused-turn-restarted", Rule: "ANT-S2 R31", Providers: anthropic, alter: restartPaused},
	{Name: "approval-without-request", Rule: "R52", Providers: openAI, alter: onLastPage(addUserItem(`{"type":"mcp_approval_response","approval_request_id":"mcpr_0a1b2c3d","approve":true}`))},
	{Name: "a-tool-of-other-beta", Rule: "R53", Providers: anthropic, alter: toolOfBeta("computer-use-2024-10-22")},
	{Name: "a-history-without-beta", Rule: "R53", Providers: anthropic, alter: historyWithoutBeta},
	{Name: "a-beta-lost-in-turn", Rule: "R53", Providers: anthropic, prepare: askingForBeta("interleaved-thinking-2025-05-14"), alter: loseBetaInTurn},
	{Name: "a-public-body-to-cloud", Rule: "R53 A-5", Providers: anthropic, prepare: recordedModel, alter: toCloud},
}

func isType(kind string) blockFilter {
	return func(_ *scene, _ int, b *block) bool { return b.node.at("type").stringValue() == kind }
}

// isSentAfterReply holds where an earlier reply holds a block of the same type.
func isSentAfterReply(s *scene, k int, b *block) bool {
	for j := range k {
		if bytes.Contains(s.ev.Exchanges[j].Response.Body, []byte(`"compaction"`)) {
			return b.role == "assistant"
		}
	}
	return false
}

func isServerSearch(_ *scene, _ int, b *block) bool {
	return b.node.at("execution").stringValue() == "server"
}

func isClientSearch(_ *scene, _ int, b *block) bool {
	return b.node.at("execution").stringValue() == "client"
}

// isBesideLinkedCall holds where a call of a recorded reply stands in the same request, and
// the search was in that reply.
func isBesideLinkedCall(s *scene, k int, b *block) bool {
	id := b.node.at("id").stringValue()
	for _, c := range s.blocks[k] {
		if c.kind == callBlock && c.from != unknownOrigin && id != "" && bytes.Contains(s.ev.Exchanges[c.from.exchange].Response.Body, []byte(id)) {
			return true
		}
	}
	return false
}

// onCompactionPage alters the first request that holds a compaction which an earlier reply
// issued.
func onCompactionPage(edit func(p *page)) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		for _, k := range d.modelCalls() {
			p := d.editableRequest(k)
			if i := compactionTurn(p); i >= 0 && k > 0 {
				edit(p)
				return d.placeAt(k, []any{"input", i}), d.commitPage(k, p)
			}
		}
		return Place{}, false
	}
}

func compactionTurn(p *page) int {
	for _, b := range p.blocks {
		if b.node.at("type").stringValue() == "compaction" {
			return b.turn
		}
	}
	return -1
}

func compactionElsewhere(d *draft, r *rand.Rand) (Place, bool) {
	place, ok := onCompactionPage(func(p *page) { p.root.setMember("user", stringNode("u")) })(d, r)
	for i := range d.ev.Exchanges {
		if ex := &d.ev.Exchanges[i]; ok && ex.Index == place.Exchange {
			ex.Request.URL = strings.Replace(ex.Request.URL, "api.openai.com", "gateway.example.com", 1)
			ex.Request.Body = d.ev.Exchanges[i].Request.Body
		}
	}
	return place, ok
}

func compactionIntoText(p *page, b *block, _ *rand.Rand) bool {
	token := b.node.at("encrypted_content").stringValue()
	p.turnList().insertAt(b.turn+1, p.newTurn("user", "Summary so far: "+token))
	return len(token) > 64
}

// undeclareFound renames the tools that a search found.
func undeclareFound(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if !bytes.Contains(p.root.encodeJSON(), []byte("tool_reference")) || p.root.at("mcp_servers") != nil {
		return ""
	}
	changed := ""
	for _, t := range elementsOf(p.root.at("tools")) {
		if t.at("defer_loading").isTrue() {
			t.setMember("name", stringNode("renamed_"+t.at("name").stringValue()))
			changed = "messages"
		}
	}
	return changed
}

func deferTools(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, t := range elementsOf(p.root.at("tools")) {
		if t.at("type").stringValue() == "mcp_toolset" || t.at("cache_control") != nil {
			return ""
		}
		t.setMember("defer_loading", parseLiteral("true"))
		changed = "tools"
	}
	return changed
}

func deferSearchTool(_ *draft, _ int, p *page, _ *rand.Rand) string {
	tools := elementsOf(p.root.at("tools"))
	for _, t := range tools {
		if len(tools) > 1 && strings.HasPrefix(t.at("type").stringValue(), "tool_search_tool") {
			t.setMember("defer_loading", parseLiteral("true"))
			return "tools"
		}
	}
	return ""
}

const benchContainer = "container_01benchherons"

// asProgrammatic makes calls of the model those of a program in a container that waits for
// their results.
func asProgrammatic(d *draft, _ *rand.Rand) bool {
	direct, program := []byte(`"caller":{"type":"direct"}`), []byte(`"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_01bench"}`)
	held := false
	for _, k := range d.accepted {
		ex := &d.ev.Exchanges[k]
		if isStreamed(ex.Response.Body) || bytes.Contains(ex.Response.Body, []byte(`"container":{`)) {
			return false
		}
		called := bytes.Contains(ex.Response.Body, direct)
		body := bytes.ReplaceAll(ex.Response.Body, direct, program)
		if called {
			body = bytes.Replace(body, []byte(`"role":"assistant"`), []byte(`"role":"assistant","container":{"id":"`+benchContainer+`","expires_at":"2026-12-01T00:00:00Z"}`), 1)
		}
		d.setReply(k, ex.Response.Status, body)
		p := d.editableRequest(k)
		for _, b := range p.blocks {
			if b.kind == callBlock && b.from != unknownOrigin && bytes.Contains(d.ev.Exchanges[b.from.exchange].Response.Body, program) {
				b.node.setMember("caller", parseLiteral(`{"type":"code_execution_20260120","tool_id":"srvtoolu_01bench"}`))
				p.root.setMember("container", stringNode(benchContainer))
				held = true
			}
		}
		d.commitPage(k, p)
	}
	return held
}

func hasProgram(_ *scene, _ int, b *block) bool {
	return b.node.at("caller", "type").stringValue() == "code_execution_20260120"
}

func forgetContainer(d *draft, k int, p *page, _ *rand.Rand) string {
	last := p.blocks
	if len(last) == 0 || last[len(last)-1].kind != resultBlock || !p.root.removeKey("container") {
		return ""
	}
	return "container"
}

// restartPaused sends the request again whose turn paused, in place of the one that goes on.
func restartPaused(d *draft, _ *rand.Rand) (Place, bool) {
	for i, k := range d.accepted {
		if i+1 < len(d.accepted) && bytes.Contains(d.ev.Exchanges[k].Response.Body, []byte(`"pause_turn"`)) {
			next := d.accepted[i+1]
			d.ev.Exchanges[next].Request.Body = d.ev.Exchanges[k].Request.Body
			return d.placeAt(next, nil), true
		}
	}
	return Place{}, false
}

// setBetas says which betas an exchange asks for.
func (d *draft) setBetas(k int, betas string) {
	ex := &d.ev.Exchanges[k]
	ex.Request.Header = ex.Request.Header.Clone()
	ex.Request.Header.Set("Anthropic-Beta", betas)
}

// hasBetaHeader holds where the betas of a request are known or can be given.
func (d *draft) hasBetaHeader(k int) bool {
	ex := d.ev.Exchanges[k]
	return keepsHeaders(&ex) && !strings.Contains(ex.Request.URL, "beta=")
}

func toolOfBeta(beta string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		if !d.hasBetaHeader(k) || d.ev.Exchanges[k].Request.Header.Get("Anthropic-Beta") != "" {
			return ""
		}
		d.setBetas(k, beta)
		return p.pushTool(parseLiteral(`{"type":"computer_20250124","name":"computer","display_width_px":1024,"display_height_px":768}`))
	})
}

// historyWithoutBeta gives the history a pair of blocks that a beta alone knows.
func historyWithoutBeta(d *draft, r *rand.Rand) (Place, bool) {
	return onLastPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		if !d.hasBetaHeader(k) || d.ev.Exchanges[k].Request.Header.Get("Anthropic-Beta") != "" || p.turnList().countMembers() == 0 || len(d.accepted) > 1 {
			return ""
		}
		p.turnList().insertAt(0, parseLiteral(`{"role":"assistant","content":[{"type":"mcp_tool_use","id":"mcptoolu_01bench","name":"read","server_name":"docs","input":{}},{"type":"mcp_tool_result","tool_use_id":"mcptoolu_01bench","is_error":false,"content":[{"type":"text","text":"A tale."}]},{"type":"text","text":"It is a tale."}]}`))
		p.turnList().insertAt(0, p.newTurn("user", "Read the first page."))
		return "messages"
	})(d, r)
}

func askingForBeta(beta string) func(*draft, *rand.Rand) bool {
	return func(d *draft, _ *rand.Rand) bool {
		for _, k := range d.asked {
			if !d.hasBetaHeader(k) || d.ev.Exchanges[k].Request.Header.Get("Anthropic-Beta") != "" {
				return false
			}
			d.setBetas(k, beta)
		}
		return len(d.accepted) > 1
	}
}

// loseBetaInTurn asks for another beta where a request brings results.
func loseBetaInTurn(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.accepted {
		blocks := d.blocks[k]
		if len(blocks) > 0 && blocks[len(blocks)-1].kind == resultBlock && d.continuesReply(k) {
			d.setBetas(k, "token-efficient-tools-2025-02-19")
			return Place{Exchange: d.ev.Exchanges[k].Index, Path: "anthropic-beta"}, true
		}
	}
	return Place{}, false
}

func recordedModel(d *draft, _ *rand.Rand) bool {
	for _, k := range d.asked {
		if d.requests[k].at("stream").isTrue() {
			return false
		}
	}
	return true
}

const vertexAddress = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/"

// toCloud sends a request of the public API to a cloud as it is.
func toCloud(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.asked {
		ex := &d.ev.Exchanges[k]
		ex.Request.URL = vertexAddress + d.modelName(k) + ":rawPredict"
	}
	return Place{Exchange: d.ev.Exchanges[d.asked[0]].Index, Path: "model"}, true
}
