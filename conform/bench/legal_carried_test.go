package bench

import (
	"math/rand/v2"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// legalCarried are the nearest things that providers accept to the faults in media, in what
// is carried and in recovery.
var legalCarried = []Kind{
	{Name: "a-pdf-document", Rule: "A-46", Providers: anthropic, alter: addToTurn("user", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjcKMSAwIG9iago8PD4+CmVuZG9iago="}}`)},
	{Name: "a-image-at-address", Rule: "R47", Providers: anthropic, alter: addToTurn("user", `{"type":"image","source":{"type":"url","url":"https://pictures.example/shot.png"}}`)},
	{Name: "image-in-result", Rule: "R47", Providers: anthropic, alter: onNewBlock(resultValue(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+largeImage+`"}}]`), isKind(resultBlock), inLastCall)},
	{Name: "base64-that-is-no-image", Rule: "R47", Providers: all, alter: onNewBlock(shortImageText, isKind(resultBlock), inLastCall)},
	{Name: "refused-image-left-out", Rule: "R47 R48", Providers: anthropic, prepare: refusedForImage, onFailing: true, alter: imageLeftOut},
	{Name: "compaction-without-id", Rule: "O-15", Providers: openAI, alter: onBlock(removeKey("id"), isType("compaction"))},
	{Name: "history-before-compaction-left-out", Rule: "R50", Providers: openAI, alter: onCompactionPage(dropBeforeCompaction)},
	{Name: "some-tools-deferred", Rule: "R51", Providers: anthropic, alter: laterRequests(addDeferredTool)},
	{Name: "program-with-container", Rule: "R52", Providers: anthropic, alter: func(d *draft, r *rand.Rand) (Place, bool) { return Place{}, asProgrammatic(d, r) }},
	{Name: "program-answered-in-turn", Rule: "R52", Providers: anthropic, prepare: asProgrammatic, alter: onNewBlock(resultValue(`"a longer result"`), isKind(resultBlock), inLastCall)},
	{Name: "a-tool-of-its-beta", Rule: "R53", Providers: anthropic, alter: toolOfBeta("computer-use-2025-01-24,interleaved-thinking-2025-05-14")},
	{Name: "a-beta-added-in-turn", Rule: "R53", Providers: anthropic, prepare: askingForBeta("interleaved-thinking-2025-05-14"), alter: addBetaInTurn},
	{Name: "a-cloud-body-to-cloud", Rule: "R53", Providers: anthropic, prepare: recordedModel, alter: cloudBody},
	{Name: "retry-after-the-wait", Rule: "§4 retry", Providers: all, alter: retryAfter(40)},
	{Name: "overflow-then-shorter", Rule: "A-45 O-27 G-29", Providers: all, alter: overflowShortened, lossy: true},
	{Name: "retry-with-results", Rule: "§4 D-32", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: refusedFirst(serverError)},
}

// shortImageText is a text with the beginning of an image, as documents quote it.
func shortImageText(p *page, b *block, _ *rand.Rand) bool {
	return setResult(p, b, "The file begins with iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ and goes on.")
}

func imageLeftOut(d *draft, _ *rand.Rand) (Place, bool) {
	place, ok := imageSentAgain(d, nil)
	if !ok {
		return place, false
	}
	k := len(d.ev.Exchanges) - 1
	p := d.editableRequest(k - 1)
	content := p.blockList(p.lastTurn("user"))
	content.removeAt(content.countMembers() - 1)
	d.ev.Exchanges[k].Request.Body = p.root.encodeJSON()
	d.setReply(k, 200, composeReply(d.provider, d.wantsStream(k-1), d.modelName(k-1), "I go on without it.", "Left"))
	return place, true
}

func dropBeforeCompaction(p *page) {
	i := compactionTurn(p)
	if i > 0 {
		p.turnList().members = p.turnList().members[i-1:]
	}
}

func addBetaInTurn(d *draft, _ *rand.Rand) (Place, bool) {
	k := lastOf(d.scene)
	d.setBetas(k, "interleaved-thinking-2025-05-14,context-management-2025-06-27")
	return Place{Exchange: d.ev.Exchanges[k].Index, Path: "anthropic-beta"}, true
}

// cloudBody sends a request to a cloud in its own form.
func cloudBody(d *draft, r *rand.Rand) (Place, bool) {
	for _, k := range d.asked {
		p := d.editableRequest(k)
		if !p.root.removeKey("model") {
			return Place{}, false
		}
		p.root.setMember("anthropic_version", stringNode("vertex-2023-10-16"))
		d.commitPage(k, p)
	}
	return toCloud(d, r)
}

// overflowShortened goes on after an overflow without the earliest turns.
func overflowShortened(d *draft, _ *rand.Rand) (Place, bool) {
	k := lastOf(d.scene)
	p := d.editableRequest(k)
	list := p.turnList()
	if len(d.accepted) < 2 || k != len(d.ev.Exchanges)-1 || !list.isArray() || list.countMembers() < 2 || !d.isComposable(k) {
		return Place{}, false
	}
	last := p.blocks[len(p.blocks)-1]
	if last.kind != textBlock || last.role != "user" {
		return Place{}, false
	}
	list.members = list.members[last.turn:]
	d.refuseExchange(k, tooLong)
	d.repeatExchange(k)
	d.ev.Exchanges[k+1].Request.Body = p.root.encodeJSON()
	d.setReply(k+1, 200, composeReply(d.provider, d.wantsStream(k), d.modelName(k), "A short answer.", "Short"))
	return d.placeAt(k+1, nil), true
}
