package bench

import (
	"math/rand/v2"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// resumeFaults happen where a second process continues the session of a first.
// The border is marked in the evidence before the fault is made.
var resumeFaults = []Kind{
	{Name: "resume-history-lost", Rule: "R37 resume", Providers: all, prepare: withBorder, alter: atBorder(keepLastPrompt)},
	{Name: "resume-last-reply-lost", Rule: "R37 resume", Providers: all, prepare: withBorder, alter: atBorder(dropLastReply)},
	{Name: "resume-first-turn-lost", Rule: "R37 resume", Providers: anthropic, prepare: withBorder, alter: atBorder(dropFirstExchange)},
	{Name: "resume-tokens-lost", Rule: "R3 resume", Providers: all, prepare: withBorder, alter: atBorder(dropTokens)},
	{Name: "resume-tokens-truncated", Rule: "R3 resume", Providers: all, prepare: withBorder, alter: atBorder(truncateTokens)},
	{Name: "resume-thinking-lost", Rule: "R3 resume", Providers: []string{evidence.Anthropic, evidence.OpenAI}, prepare: withBorder, alter: atBorder(dropAllThinking)},
	{Name: "resume-open-call-not-closed", Rule: "R11 E9", Providers: all, prepare: withBorder, alter: atBorder(leaveCallOpen)},
	{Name: "resume-results-twice", Rule: "R13 gemini-cli --resume", Providers: all, prepare: withBorder, alter: atBorder(resultsTwice)},
	{Name: "resume-history-twice", Rule: "R13 resume", Providers: all, prepare: withBorder, alter: atBorder(historyTwice)},
	{Name: "resume-model-changed", Rule: "R38 resume", Providers: all, prepare: withBorder, alter: borderModel},
	{Name: "resume-system-changed", Rule: "E19 R44", Providers: all, prepare: withBorder, alter: atBorder(func(p *page) string { return editSystem(p, nil) })},
	{Name: "resume-system-lost", Rule: "E19 R44", Providers: all, prepare: withBorder, alter: atBorder(dropSystem)},
	{Name: "resume-tools-changed", Rule: "E19 R44", Providers: all, prepare: withBorder, alter: atBorder(func(p *page) string { return addTool(p, nil) })},
	{Name: "resume-tool-removed", Rule: "E19 R44", Providers: all, prepare: withBorder, alter: atBorder(func(p *page) string { return removeTool(p, nil) })},
	{Name: "resume-tools-reordered", Rule: "E19 R44", Providers: all, prepare: withBorder, alter: atBorder(func(p *page) string { return reorderTools(p, nil) })},
	{Name: "resume-text-edited", Rule: "R37 resume", Providers: all, prepare: withBorder, alter: atBorder(borderText)},
	{Name: "resume-prompt-edited", Rule: "R37 resume", Providers: all, prepare: withBorder, alter: atBorder(borderPrompt)},
	{Name: "resume-arguments-edited", Rule: "R29 resume", Providers: all, prepare: withBorder, alter: atBorder(borderArguments)},
	{Name: "resume-ids-reinvented", Rule: "R14 resume", Providers: all, prepare: withBorder, alter: borderIDs},
	{Name: "resume-result-cleared", Rule: "R37 resume", Providers: []string{evidence.Anthropic, evidence.OpenAI}, prepare: withBorder, alter: atBorder(borderResult)},
}

// markBorder finds the first request that sends back a reply of the recording
// and makes it the first of a second process.
func (d *draft) markBorder() (border int, ok bool) {
	for _, k := range d.modelCalls() {
		if !d.continuesReply(k) {
			continue
		}
		for i := range d.ev.Exchanges {
			d.ev.Exchanges[i].Process = 0
			if i >= k {
				d.ev.Exchanges[i].Process = 1
			}
		}
		d.ev.Process = []evidence.Process{{}, {Resumed: true}}
		return k, true
	}
	return 0, false
}

func withBorder(d *draft, _ *rand.Rand) bool {
	_, ok := d.markBorder()
	return ok
}

// findBorder is the first exchange of the second process.
func (s *scene) findBorder() int {
	for i := range s.ev.Exchanges {
		if s.ev.Exchanges[i].Process == 1 {
			return i
		}
	}
	return -1
}

// atBorder alters the requests of the second process.
func atBorder(edit func(p *page) string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		border := d.findBorder()
		place, done := Place{}, false
		for _, k := range d.modelCalls() {
			if border < 0 || k < border {
				continue
			}
			p := d.editableRequest(k)
			path := edit(p)
			if path == "" || !d.commitPage(k, p) {
				if k == border {
					return Place{}, false
				}
				continue
			}
			if !done {
				place, done = Place{Exchange: d.ev.Exchanges[k].Index, Path: path}, true
			}
		}
		return place, done
	}
}

// keepLastPrompt leaves what the user said last, as if there had been no session.
func keepLastPrompt(p *page) string {
	turn := openTurn(p.blocks)
	if turn <= 0 {
		return ""
	}

	keep := 0
	for p.turnList().at(keep).at("role").stringValue() == "system" || p.turnList().at(keep).at("role").stringValue() == "developer" {
		keep++
	}
	if keep >= turn {
		return ""
	}
	rest := p.turnList().members[turn:]
	if turn != p.turnList().countMembers()-1 {
		// Inside a tool loop: the loop is lost, too.
		rest = rest[:1]
	}
	p.turnList().members = append(p.turnList().members[:keep:keep], rest...)
	return listKey[p.provider]
}

// dropLastReply removes the newest reply and the results that answer it.
func dropLastReply(p *page) string {
	if p.blocks[len(p.blocks)-1].kind != textBlock {
		return "" // without a new prompt it would be the last request again
	}
	newest := -1
	for _, b := range p.blocks {
		newest = max(newest, b.from.exchange)
	}
	if newest < 0 {
		return ""
	}
	return dropReply(p, newest)
}

func dropReply(p *page, exchange int) string {
	var gone []*block
	for _, b := range p.blocks {
		if b.from.exchange != exchange {
			continue
		}
		gone = append(gone, b)
		if b.kind == callBlock {
			if result := answerTo(p.provider, p.blocks, b); result != nil {
				gone = append(gone, result)
			}
		}
	}
	for i := len(p.blocks) - 1; i >= 0; i-- {
		for _, b := range gone {
			if b == p.blocks[i] {
				p.dropBlock(b)
				break
			}
		}
	}
	if len(p.turnList().members) == 0 {
		return ""
	}
	return listKey[p.provider]
}

func dropFirstExchange(p *page) string {
	first := 1 << 30
	for _, b := range p.blocks {
		if b.from.exchange >= 0 {
			first = min(first, b.from.exchange)
		}
	}
	newest := -1
	for _, b := range p.blocks {
		newest = max(newest, b.from.exchange)
	}
	if first == 1<<30 || first == newest {
		return ""
	}
	return dropReply(p, first)
}

// dropTokens leaves the tokens out, where the provider does not keep them itself.
func dropTokens(p *page) string {
	if p.provider == evidence.OpenAI && !isStatelessRoot(p.root) {
		return ""
	}
	path := ""
	for i := len(p.blocks) - 1; i >= 0; i-- {
		b := p.blocks[i]
		if b.token == "" || b.from == unknownOrigin {
			continue
		}
		b.node.removeKey(b.tokenKey)
		if p.provider == evidence.OpenAI && b.itemID == "" {
			p.dropBlock(b)
		}
		path = pathString(b.path)
	}
	return path
}

func truncateTokens(p *page) string {
	path := ""
	for _, b := range p.blocks {
		if len(b.token) > 32 && b.from != unknownOrigin {
			p.setToken(b, b.token[:24])
			path = pathString(b.path)
		}
	}
	return path
}

// dropAllThinking leaves the thinking of the open turn out; that of finished
// turns may be left out.
func dropAllThinking(p *page) string {
	path, open := "", openTurn(p.blocks)
	for i := len(p.blocks) - 1; i >= 0; i-- {
		b := p.blocks[i]
		if b.from != unknownOrigin && b.turn > open && (b.kind == thinkingBlock || b.kind == hiddenBlock) {
			p.dropBlock(b)
			path = pathString(b.path)
		}
	}
	return path
}

// leaveCallOpen drops the results of the newest calls; the prompt follows them.
func leaveCallOpen(p *page) string {
	path := ""
	for i := len(p.blocks) - 1; i >= 0; i-- {
		b := p.blocks[i]
		if b.kind != callBlock {
			continue
		}
		result := answerTo(p.provider, p.blocks, b)
		if result == nil {
			return ""
		}
		list, at := p.siblingsOf(result)
		if p.provider != evidence.OpenAI && list.countMembers() == 1 {
			p.turnList().at(result.turn).replaceWith(p.newTurn("user", "Go on, please."))
		} else {
			list.removeAt(at)
		}
		path = pathString(b.path)
		break
	}
	return path
}

func resultsTwice(p *page) string {
	path := ""
	for i := len(p.blocks) - 1; i >= 0; i-- {
		if b := p.blocks[i]; b.kind == resultBlock && p.insertBeside(b, 1, b.node.deepCopy()) {
			path = pathString(b.path)
		}
	}
	return path
}

// historyTwice repeats all turns up to the last prompt.
func historyTwice(p *page) string {
	n := openTurn(p.blocks)
	if n <= 1 {
		return ""
	}
	var turns []*node
	for i := range n {
		turns = append(turns, p.turnList().at(i).deepCopy())
	}
	for i, turn := range turns {
		p.turnList().insertAt(n+i, turn)
	}
	return listKey[p.provider]
}

// sendsTokens reports whether request k sends back a token of the recording.
func (s *scene) sendsTokens(k int) bool {
	return slices.ContainsFunc(s.blocks[k], func(b *block) bool { return b.token != "" && b.from != unknownOrigin })
}

// borderModel continues the session with another model, tokens included.
func borderModel(d *draft, r *rand.Rand) (Place, bool) {
	border := d.findBorder()
	if border < 0 {
		return Place{}, false
	}
	names := map[string]string{evidence.Anthropic: "claude-opus-4-6", evidence.OpenAI: "gpt-5.4", evidence.Gemini: "gemini-3.1-pro-preview"}
	other := names[d.provider]
	place, done := Place{}, false
	for _, k := range d.modelCalls() {
		if k < border || d.modelName(k) == other || !d.sendsTokens(k) {
			continue
		}
		ex := &d.ev.Exchanges[k]
		if d.provider == evidence.Gemini {
			ex.Request.URL = replaceModel(ex.Request.URL, d.modelName(k), other)
		} else {
			p := d.editableRequest(k)
			p.root.setMember("model", stringNode(other))
			d.commitPage(k, p)
		}
		d.setReply(k, ex.Response.Status, renameModel(ex.Response.Body, other))
		if !done {
			place, done = d.placeAt(k, []any{"model"}), true
		}
	}
	return place, done
}

func dropSystem(p *page) string {
	for _, key := range []string{"system", "instructions", "systemInstruction", "system_instruction"} {
		if p.root.removeKey(key) {
			return key
		}
	}
	if role := p.turnList().at(0).at("role").stringValue(); role == "system" || role == "developer" {
		p.turnList().removeAt(0)
		return "input[0]"
	}
	return ""
}

// onFirst edits the first block that fits.
func onFirst(p *page, edit blockEdit, fits func(b *block) bool) string {
	for _, b := range p.blocks {
		if fits(b) && edit(p, b, newRand(3)) {
			return pathString(b.path)
		}
	}
	return ""
}

func borderText(p *page) string {
	return onFirst(p, editWord, func(b *block) bool {
		return b.kind == textBlock && b.from != unknownOrigin && len(b.text) >= 12
	})
}

func borderPrompt(p *page) string {
	if openTurn(p.blocks) < 1 {
		return ""
	}
	return onFirst(p, editWord, func(b *block) bool {
		return b.kind == textBlock && b.role == "user" && b.turn < openTurn(p.blocks) && len(b.text) >= 12
	})
}

func borderArguments(p *page) string {
	return onFirst(p, editArguments, func(b *block) bool { return b.kind == callBlock && b.from != unknownOrigin })
}

func borderIDs(d *draft, r *rand.Rand) (Place, bool) {
	return atBorder(func(p *page) string {
		return onFirst(p, inventID, func(b *block) bool {
			return b.kind == callBlock && b.from != unknownOrigin && hasIssuedID(d.scene, 0, b)
		})
	})(d, r)
}

func borderResult(p *page) string {
	open := openTurn(p.blocks)
	return onFirst(p, clearResult, func(b *block) bool { return b.kind == resultBlock && b.turn < open && b.sentBefore })
}
