package bench

import (
	"math/rand/v2"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// legalTraffic adds or removes whole exchanges: retries, forks, side requests.
var legalTraffic = []Kind{
	{Name: "retry-after-overload", Rule: "§4 retry", Providers: all, alter: refusedFirst(overload)},
	{Name: "retry-after-rate-limit", Rule: "§4 retry A-/O-31 G-30", Providers: all, alter: refusedFirst(rateLimit)},
	{Name: "retry-after-quota", Rule: "§4", Providers: all, alter: refusedFirst(quota)},
	{Name: "retry-after-server-error", Rule: "§4 retry", Providers: all, alter: refusedFirst(serverError)},
	{Name: "retry-with-another-key", Rule: "A-2 O-1 G-1", Providers: all, alter: refusedFirst(badKey)},
	{Name: "retry-after-context-length", Rule: "A-45 O-27 G-29", Providers: all, alter: refusedFirst(tooLong)},
	{Name: "retry-after-unknown-model", Rule: "A-3 O-2 G-2", Providers: all, alter: unknownModelFirst},
	{Name: "retry-three-times", Rule: "§4 retry", Providers: all, alter: refusedOften(overload, 3)},
	{Name: "rate-limit-three-times", Rule: "§4 retry G-30", Providers: all, alter: refusedOften(rateLimit, 3)},
	{Name: "retry-after-reset", Rule: "§4 retry", Providers: all, alter: resetFirst},
	{Name: "retry-after-cut-stream", Rule: "D-32", Providers: all, alter: cutFirst},
	{Name: "retry-after-stream-error", Rule: "D-32 A3", Providers: all, alter: streamErrorFirst},
	{Name: "same-request-twice", Rule: "retry", Providers: all, alter: exchangeTwice},
	{Name: "fork", Rule: "R39", Providers: all, alter: forkAtEnd},
	{Name: "fork-interleaved", Rule: "R39", Providers: all, alter: forkInside},
	{Name: "sub-agent-before", Rule: "sub-agent", Providers: all, alter: sideConversation("You are a search helper.", "Find the file that declares main.", "It is main.go.", 0)},
	{Name: "sub-agent-between", Rule: "sub-agent", Providers: all, alter: sideConversation("You are a search helper.", "Find the file that declares main.", "It is main.go.", 1)},
	{Name: "sub-agent-same-words", Rule: "sub-agent", Providers: all, alter: sideSamePrompt},
	{Name: "title-request", Rule: "side request", Providers: all, alter: sideConversation("Write a title of five words for the conversation.", "User: please look at the tests.", "Looking at the tests", 1)},
	{Name: "topic-request", Rule: "side request", Providers: all, alter: sideConversation("Say whether the message begins a new topic. Answer as JSON.", "go on", `{"isNewTopic": false, "title": null}`, 1)},
	{Name: "quota-probe", Rule: "side request", Providers: all, alter: sideConversation("x", "quota", "I", 0)},
	{Name: "text-only-copy", Rule: "side request", Providers: all, alter: textCopy(false)},
	{Name: "summary-request", Rule: "side request", Providers: all, alter: textCopy(true)},
	{Name: "summary-in-conversation", Rule: "side request", Providers: all, alter: summaryAppended},
	{Name: "small-model-request", Rule: "side request", Providers: all, alter: smallModel},
	{Name: "compaction-new-conversation", Rule: "compaction", Providers: all, alter: newCompactedSession},
	{Name: "cleared-session", Rule: "new session", Providers: all, alter: sideConversation("", "hello again", "Hello.", 9)},
	{Name: "twins-side-by-side", Rule: "twins", Providers: all, alter: runTwice(true)},
	{Name: "twins-one-after-other", Rule: "twins", Providers: all, alter: runTwice(false)},
	{Name: "continue-twice", Rule: "repeated prompt", Providers: all, alter: continueTwice("continue", "Going on with part one.", "Going on with part two.")},
	{Name: "continue-equal-answers", Rule: "repeated prompt, equal texts", Providers: all, alter: continueTwice("continue", "Done.", "Done.")},
	{Name: "prompt-repeated", Rule: "repeated prompt", Providers: all, alter: repeatFirstPrompt},
	{Name: "starts-in-mid-session", Rule: "mid-session", Providers: all, alter: dropEarlier},
	{Name: "mid-session-prompt-repeated", Rule: "mid-session", Providers: all, alter: midSessionRepeated},
	{Name: "exchange-not-recorded", Rule: "turn nobody recorded", Providers: all, alter: dropMiddle},
	{Name: "interrupted-reply-dropped", Rule: "user's interrupt", Providers: all, alter: interruptReply(false)},
	{Name: "interrupted-reply-kept", Rule: "user's interrupt", Providers: all, alter: interruptReply(true), lossy: true},
	{Name: "interrupted-tool", Rule: "user's interrupt R11", Providers: all, alter: onBlock(interruptedResult, isKind(resultBlock), isNew)},
	{Name: "reply-body-not-kept", Rule: "missing bodies", Providers: all, alter: bodyNotKept},
	{Name: "headers-not-kept", Rule: "missing headers", Providers: all, alter: headersNotKept},
	{Name: "resumed-unchanged", Rule: "legal resume", Providers: all, alter: resumedUnchanged},
	{Name: "refused-model-then-stopped", Rule: "refusal, no fault", Providers: all, alter: lastRefused(tooLong)},
	{Name: "last-call-over-quota", Rule: "quota, no fault", Providers: all, alter: lastRefused(quota)},
}

// forkAtEnd asks something else from the point where the last request stood.
func forkAtEnd(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.modelCalls() {
		if len(d.blocks[k]) > 0 && d.continuesReply(k) && d.isComposable(k) {
			return d.forkOf(k, len(d.ev.Exchanges))
		}
	}
	return Place{}, false
}

func forkInside(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.modelCalls() {
		if len(d.blocks[k]) > 0 && d.continuesReply(k) && d.isComposable(k) {
			return d.forkOf(k, k)
		}
	}
	return Place{}, false
}

func (d *draft) forkOf(k, at int) (Place, bool) {
	p := d.editableRequest(k)
	last := p.blocks[len(p.blocks)-1]
	switch {
	case last.role != "user":
		return Place{}, false
	case last.kind == textBlock:
		p.setText(last, "Or rather, do it the other way round.")
	default:
		return Place{}, false
	}
	d.insertExchange(at, d.exchangeLike(k, p.root, "The other way round, then.", "fork"))
	return Place{Exchange: at}, true
}

// newCompactedSession begins a new conversation with a summary of the old one.
func newCompactedSession(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	k := list[len(list)-1]
	if !d.isComposable(k) || d.requests[k].at("prompt") != nil {
		return Place{}, false
	}
	p := d.editableRequest(k)
	if !p.turnList().isArray() || p.root.at("previous_response_id") != nil || p.root.at("conversation") != nil {
		return Place{}, false
	}
	fresh := parseLiteral("[]")
	for _, b := range p.blocks {
		if d.provider == evidence.OpenAI && (b.role == "system" || b.role == "developer") && b.pos == 0 {
			fresh.appendValue(p.turnList().at(b.turn))
		}
	}
	p.root.setMember(listKey[p.provider], fresh)
	fresh.appendValue(p.newTurn("user", "This session is being continued from a previous conversation that ran out of context. The summary: the user asked for help and got it.\n\nPlease go on without asking anything."))
	d.insertExchange(len(d.ev.Exchanges), d.exchangeLike(k, p.root, "I go on where we stopped.", "comp"))
	return Place{Exchange: len(d.ev.Exchanges) - 1}, true
}

// continueTwice goes on with the same prompt twice.
func continueTwice(prompt, first, second string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		k, p, ok := d.withPrompt(prompt)
		if !ok {
			return Place{}, false
		}
		n := len(d.ev.Exchanges)
		d.insertExchange(n, d.exchangeLike(k, p.root, first, "cont1"))
		p.turnList().appendValue(p.newTurn("assistant", first))
		p.turnList().appendValue(p.newTurn("user", prompt))
		d.insertExchange(n+1, d.exchangeLike(k, p.root, second, "cont2"))
		p.turnList().appendValue(p.newTurn("assistant", second))
		p.turnList().appendValue(p.newTurn("user", "thanks"))
		d.insertExchange(n+2, d.exchangeLike(k, p.root, "You are welcome.", "cont3"))
		return Place{Exchange: n}, true
	}
}

// repeatFirstPrompt asks the first question of the conversation again at its end.
func repeatFirstPrompt(d *draft, r *rand.Rand) (Place, bool) {
	for _, b := range d.blocks[d.modelCalls()[0]] {
		if b.kind == textBlock && b.role == "user" && b.text != "" {
			return continueTwice(b.text, "As I said before.", "Once more, then.")(d, r)
		}
	}
	return Place{}, false
}

// dropEarlier leaves the last exchanges of a conversation alone.
func dropEarlier(d *draft, _ *rand.Rand) (Place, bool) {
	for i, k := range d.modelCalls() {
		if i > 0 && d.continuesReply(k) {
			d.ev.Exchanges = d.ev.Exchanges[k:]
			d.renumberExchanges()
			return Place{}, true
		}
	}
	return Place{}, false
}

func midSessionRepeated(d *draft, r *rand.Rand) (Place, bool) {
	if _, ok := repeatFirstPrompt(d, r); !ok {
		return Place{}, false
	}
	d.ev.Exchanges = d.ev.Exchanges[len(d.ev.Exchanges)-3:]
	d.renumberExchanges()
	return Place{}, true
}

func dropMiddle(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	for i := 1; i+1 < len(list); i++ {
		if d.continuesReply(list[i+1]) && d.continuesReply(list[i]) {
			at := list[i]
			d.ev.Exchanges = append(d.ev.Exchanges[:at:at], d.ev.Exchanges[at+1:]...)
			d.renumberExchanges()
			return Place{Exchange: at}, true
		}
	}
	return Place{}, false
}

func bodyNotKept(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	if len(list) < 2 {
		return Place{}, false
	}
	k := list[len(list)-1]
	d.ev.Exchanges[k].Response.Body = nil
	d.ev.Exchanges[k].Response.Chunks = nil
	return d.placeAt(k, nil), true
}

func headersNotKept(d *draft, _ *rand.Rand) (Place, bool) {
	had := false
	for k := range d.ev.Exchanges {
		had = had || len(d.ev.Exchanges[k].Request.Header) > 0
		d.ev.Exchanges[k].Request.Header = nil
		d.ev.Exchanges[k].Response.Header = nil
	}
	return Place{}, had
}

func resumedUnchanged(d *draft, _ *rand.Rand) (Place, bool) {
	k, ok := d.markBorder()
	if !ok {
		return Place{}, false
	}
	return d.placeAt(k, nil), true
}
