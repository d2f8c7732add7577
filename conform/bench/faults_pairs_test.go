package bench

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

const (
	pairRule   = "A-15 O-10 G-15"
	orphanRule = "A-17 O-11 G-14"
)

// pairFaults break the pairs of calls and results, and their ids.
var pairFaults = []Kind{
	{Name: "result-missing", Rule: pairRule, Providers: all, alter: onNewBlock(dropResult, isKind(callBlock), hasResult, isClientCall)},
	{Name: "result-missing-of-parallel", Rule: pairRule, Providers: all, alter: onNewBlock(dropResult, isKind(callBlock), hasResult, isParallel, isClientCall)},
	{Name: "results-all-missing", Rule: pairRule, Providers: all, alter: onPage(dropAllResults)},
	{Name: "call-missing", Rule: orphanRule, Providers: all, alter: onNewBlock(dropBlock, isKind(callBlock), hasResult, isLinked)},
	{Name: "result-orphan", Rule: orphanRule, Providers: all, alter: onNewBlock(orphanResult, isKind(resultBlock), hasCallID)},
	{Name: "result-twice", Rule: "A-19 OAI-P6 G-15", Providers: all, alter: onNewBlock(doubleBlock, isKind(resultBlock))},
	{Name: "result-twice-in-two-turns", Rule: "A-17 OAI-P6 G-14", Providers: all, alter: onNewBlock(doubleTurn, isKind(resultBlock))},
	{Name: "parallel-results-reordered", Rule: "ORD R25", Providers: all, alter: onNewBlock(swapResults, isKind(resultBlock))},
	{Name: "parallel-result-ids-swapped", Rule: "R13", Providers: []string{evidence.Anthropic, evidence.Gemini}, alter: onBlock(swapResultIDs, isKind(resultBlock), hasCallID, isRepeated)},
	{Name: "result-id-unknown", Rule: orphanRule, Providers: all, alter: onNewBlock(wrongID, isKind(resultBlock), hasCallID)},
	{Name: "result-id-of-item", Rule: "O-11 D-20", Providers: openAI, alter: onNewBlock(itemIDAsCallID, isKind(callBlock), hasItemID, hasResult)},
	{Name: "results-not-first", Rule: "A-16", Providers: anthropic, alter: onNewBlock(textBeforeResult, isKind(resultBlock), isFirstInTurn)},
	{Name: "results-split-over-turns", Rule: "G-15 R25", Providers: gemini, alter: onNewBlock(splitResults, isKind(resultBlock))},
	{Name: "user-turn-before-result", Rule: "A-15", Providers: anthropic, alter: onNewBlock(userBeforeResult, isKind(resultBlock))},
	{Name: "assistant-turn-before-result", Rule: "A-15 G-14 O-10", Providers: all, alter: onNewBlock(assistantBeforeResult, isKind(resultBlock), isFirstInTurn)},
	{Name: "result-before-call", Rule: "A-17 O-11 G-14", Providers: all, alter: onNewBlock(resultBeforeCall, isKind(callBlock), hasResult, isAloneInTurn)},
	{Name: "response-name-wrong", Rule: "R25 GEM-C4", Providers: gemini, alter: onNewBlock(renameResponse("some_other_tool"), isKind(resultBlock))},
	{Name: "response-name-empty", Rule: "G-10", Providers: gemini, alter: onNewBlock(renameResponse(""), isKind(resultBlock))},
	{Name: "response-name-is-id", Rule: "D20 R25", Providers: gemini, alter: onNewBlock(renameResponse("call_8f3a9c1d2e"), isKind(resultBlock))},
	{Name: "call-ids-reinvented", Rule: "R14 R13", Providers: all, alter: onNewBlock(inventID, isKind(callBlock), isLinked, hasIssuedID, hasResult)},
	{Name: "call-ids-duplicate", Rule: "A-18 R13", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(sameIDTwice, isKind(callBlock), hasCallID, hasResult)},
	{Name: "call-id-charset", Rule: "A-20", Providers: anthropic, alter: onNewBlock(pairID("functions.read:0"), isKind(callBlock), hasResult)},
	{Name: "call-id-with-space", Rule: "A-20", Providers: anthropic, alter: onNewBlock(pairID("toolu 01 abc"), isKind(callBlock), hasResult)},
	{Name: "call-id-empty", Rule: "A-20 O-7", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onNewBlock(pairID(""), isKind(callBlock), hasResult)},
	{Name: "call-id-too-long", Rule: "O-7", Providers: openAI, alter: onNewBlock(pairID("call_"+strings.Repeat("x9", 36)), isKind(callBlock), hasResult)},
	{Name: "item-id-prefix", Rule: "O-8", Providers: openAI, alter: onNewBlock(setItemID("item_0a1b2c3d4e5f"), isKind(callBlock, thinkingBlock), hasItemID)},
	{Name: "item-id-is-call-id", Rule: "O-8", Providers: openAI, alter: onNewBlock(callIDAsItemID, isKind(callBlock), hasItemID)},
	{Name: "item-id-too-long", Rule: "O-7 O-8", Providers: openAI, alter: onNewBlock(setItemID("fc_"+strings.Repeat("a1", 36)), isKind(callBlock), hasItemID)},
	{Name: "item-id-charset", Rule: "O-8", Providers: openAI, alter: onNewBlock(setItemID("fc_0a1b:2c3d/4e"), isKind(callBlock), hasItemID)},
	{Name: "item-id-twice", Rule: "O-9", Providers: openAI, alter: onNewBlock(doubleBlock, isKind(thinkingBlock), hasItemID)},
	{Name: "message-id-prefix", Rule: "O-8", Providers: openAI, alter: onNewBlock(setMessageID("item_77"), isKind(textBlock), isSaid("assistant"), hasItemID)},
	{Name: "reasoning-without-follower", Rule: "O-12", Providers: openAI, alter: onNewBlock(dropFollowers, isKind(thinkingBlock), isLinked, hasItemID, isStored)},
	{Name: "reasoning-follower-idless", Rule: "O-12", Providers: openAI, alter: onNewBlock(dropFollowerID, isKind(thinkingBlock), isLinked, hasItemID, isStored)},
	{Name: "reasoning-missing-for-item", Rule: "O-13", Providers: openAI, alter: onNewBlock(dropBlock, isKind(thinkingBlock), isLinked, hasItemID, isStored, hasFollowerID)},
	{Name: "stored-id-stateless", Rule: "O-14", Providers: openAI, alter: onNewBlock(removeToken, isKind(thinkingBlock), isLinked, hasItemID, isStateless)},
	{Name: "reasoning-without-summary", Rule: "OAI-R1", Providers: openAI, alter: onNewBlock(removeKey("summary"), isKind(thinkingBlock))},
	{Name: "call-at-the-end", Rule: "A-15 O-10", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onPage(cutAfterCall)},
	{Name: "server-tool-result-lost", Rule: "ANT-S1 R52", Providers: anthropic, alter: onNewBlock(dropBlock, isServerResult, isFollowed)},
	{Name: "server-tool-token-altered", Rule: "R52", Providers: anthropic, alter: onNewBlock(alterServerToken, isServerResult)},
	{Name: "namespace-lost", Rule: "R51", Providers: openAI, alter: onNewBlock(removeKey("namespace"), isKind(callBlock), isLinked)},
}

func hasCallID(_ *scene, _ int, b *block) bool { return b.id != "" }

// hasIssuedID holds for a call whose id is the provider's, not the client's own.
func hasIssuedID(s *scene, _ int, b *block) bool {
	return b.id != "" && s.replies[b.from.exchange][b.from.item].id == b.id
}

func isClientCall(_ *scene, _ int, b *block) bool { return b.role == "assistant" }

func isParallel(s *scene, k int, b *block) bool {
	calls := 0
	for _, c := range turnOf(s.blocks[k], b) {
		if c.kind == callBlock {
			calls++
		}
	}
	return calls > 1
}

func isFirstInTurn(s *scene, k int, b *block) bool {
	if s.provider != evidence.OpenAI {
		return b.pos == 0
	}
	i := slices.Index(s.blocks[k], b)
	return i > 0 && s.blocks[k][i-1].kind == callBlock
}

func isAloneInTurn(s *scene, k int, b *block) bool {
	return len(turnOf(s.blocks[k], b)) == 1 || s.provider == evidence.OpenAI
}

func isStored(s *scene, k int, _ *block) bool { return !isStateless(s, k, nil) }

func hasFollowerID(s *scene, k int, b *block) bool {
	i := slices.Index(s.blocks[k], b)
	return i+1 < len(s.blocks[k]) && s.blocks[k][i+1].itemID != "" && s.blocks[k][i+1].from != unknownOrigin &&
		s.blocks[k][i+1].kind != thinkingBlock
}

func isServerResult(_ *scene, _ int, b *block) bool {
	return b.role == "assistant" && strings.HasSuffix(b.node.at("type").stringValue(), "_tool_result")
}

func isFollowed(s *scene, k int, b *block) bool { return b.turn < s.blocks[k][len(s.blocks[k])-1].turn }

func dropResult(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	if result == nil {
		return false
	}
	list, _ := p.siblingsOf(result)
	if p.provider != evidence.OpenAI && list.countMembers() == 1 {
		// The turn stays, so that only the pair is broken.
		text := p.newTurn("user", "Please go on.")
		p.turnList().at(result.turn).replaceWith(text)
		return true
	}
	p.dropBlock(result)
	return true
}

func dropAllResults(_ *draft, _ int, p *page, _ *rand.Rand) string {
	path := ""
	for _, b := range slices.Backward(p.blocks) {
		if b.kind == resultBlock {
			p.dropBlock(b)
			path = pathString(b.path)
		}
	}
	return path
}

func orphanResult(p *page, b *block, _ *rand.Rand) bool {
	n := b.node.deepCopy()
	orphan := &block{kind: resultBlock, node: n}
	n.removeKey("id")
	return p.setID(orphan, freshID(b.id)) && p.insertBeside(b, 1, n)
}

// nextResult is the result beside b, of the same reply.
func nextResult(p *page, b *block) *block {
	i := slices.Index(p.blocks, b)
	if i+1 >= len(p.blocks) || p.blocks[i+1].kind != resultBlock {
		return nil
	}
	return p.blocks[i+1]
}

func swapResults(p *page, b *block, _ *rand.Rand) bool {
	next := nextResult(p, b)
	if next == nil || b.id == next.id && b.name == next.name {
		return false
	}
	list, i := p.siblingsOf(b)
	other, j := p.siblingsOf(next)
	if list == nil || list != other {
		return false
	}
	list.swapElements(i, j)
	return true
}

func swapResultIDs(p *page, b *block, _ *rand.Rand) bool {
	next := nextResult(p, b)
	holderA, key := p.resultBody(b)
	if next == nil || next.id == "" || b.name != next.name {
		return false
	}
	holderB, _ := p.resultBody(next)
	if string(holderA.at(key).encodeJSON()) == string(holderB.at(key).encodeJSON()) {
		return false
	}
	return p.setID(b, next.id) && p.setID(next, b.id)
}

func wrongID(p *page, b *block, _ *rand.Rand) bool { return p.setID(b, freshID(b.id)) }

func itemIDAsCallID(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	return result != nil && p.setID(result, b.itemID)
}

func textBeforeResult(p *page, b *block, _ *rand.Rand) bool {
	return p.insertBeside(b, 0, parseLiteral(`{"type":"text","text":"Here are the results."}`))
}

func splitResults(p *page, b *block, _ *rand.Rand) bool {
	next := nextResult(p, b)
	if next == nil || next.turn != b.turn {
		return false
	}
	list, i := p.siblingsOf(next)
	list.removeAt(i)
	turn := parseLiteral(`{"role":"user","parts":[]}`)
	turn.at("parts").appendValue(next.node)
	p.turnList().insertAt(b.turn+1, turn)
	return true
}

func userBeforeResult(p *page, b *block, _ *rand.Rand) bool {
	p.turnList().insertAt(b.turn, p.newTurn("user", "Wait a moment."))
	p.turnList().insertAt(b.turn+1, p.newTurn("assistant", "Waiting."))
	return true
}

func assistantBeforeResult(p *page, b *block, _ *rand.Rand) bool {
	p.turnList().insertAt(b.turn, p.newTurn("assistant", "Let me see."))
	p.turnList().insertAt(b.turn+1, p.newTurn("user", "And then?"))
	return true
}

func resultBeforeCall(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	if result == nil || result.turn != b.turn+1 || p.provider != evidence.OpenAI && p.turnList().at(result.turn).countMembers() == 0 {
		return false
	}
	p.turnList().swapElements(b.turn, result.turn)
	return true
}

func renameResponse(name string) blockEdit {
	return func(_ *page, b *block, _ *rand.Rand) bool {
		response, _ := b.node.firstOf("functionResponse", "function_response")
		response.setMember("name", stringNode(name))
		return true
	}
}

// pairID gives a call and its result the same bad id.
func pairID(id string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		result := answerTo(p.provider, p.blocks, b)
		return result != nil && p.setID(b, id) && p.setID(result, id)
	}
}

func inventID(p *page, b *block, r *rand.Rand) bool {
	return pairID("call_client_"+"abcdefghijklmnopqrstuvwxyz"[r.IntN(26):][:1]+"0001")(p, b, r)
}

func sameIDTwice(p *page, b *block, r *rand.Rand) bool {
	for _, c := range p.blocks {
		if c.kind == callBlock && c.id != "" && c.id != b.id {
			return pairID(c.id)(p, b, r)
		}
	}
	return false
}

func setItemID(id string) blockEdit {
	return func(_ *page, b *block, _ *rand.Rand) bool {
		b.node.setMember("id", stringNode(id))
		return true
	}
}

func setMessageID(id string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		p.turnList().at(b.turn).setMember("id", stringNode(id))
		return true
	}
}

func callIDAsItemID(_ *page, b *block, _ *rand.Rand) bool {
	b.node.setMember("id", stringNode(b.id))
	return !strings.HasPrefix(b.id, "fc_")
}

// dropFollowers removes all that the model said after a reasoning item, results
// included, up to the next thing that the user says.
func dropFollowers(p *page, b *block, _ *rand.Rand) bool {
	i := slices.Index(p.blocks, b) + 1
	var gone []*block
	for ; i < len(p.blocks) && (p.blocks[i].role == "assistant" || p.blocks[i].kind == resultBlock); i++ {
		if p.blocks[i].kind == thinkingBlock {
			return false
		}
		gone = append(gone, p.blocks[i])
	}
	for _, c := range slices.Backward(gone) {
		p.dropBlock(c)
	}
	return len(gone) > 0
}

func dropFollowerID(p *page, b *block, _ *rand.Rand) bool {
	i := slices.Index(p.blocks, b) + 1
	if i >= len(p.blocks) || p.blocks[i].kind != textBlock || p.blocks[i].itemID == "" {
		return false
	}
	return p.turnList().at(p.blocks[i].turn).removeKey("id")
}

func removeKey(key string) blockEdit {
	return func(_ *page, b *block, _ *rand.Rand) bool { return b.node.removeKey(key) }
}

// cutAfterCall ends the request with the model's calls.
func cutAfterCall(_ *draft, _ int, p *page, _ *rand.Rand) string {
	last := -1
	for _, b := range p.blocks {
		if b.kind == callBlock {
			last = b.turn
		}
	}
	if last < 0 || last+1 >= p.turnList().countMembers() {
		return ""
	}
	p.turnList().members = p.turnList().members[: last+1 : last+1]
	return pathString([]any{listKey[p.provider], last})
}

func alterServerToken(_ *page, b *block, r *rand.Rand) bool {
	content := b.node.at("content")
	for _, n := range append(elementsOf(content), content) {
		if token := n.at("encrypted_content"); token.isString() && len(token.stringValue()) > 32 {
			n.setMember("encrypted_content", stringNode(flipChar(token.stringValue(), r)))
			return true
		}
	}
	return false
}
