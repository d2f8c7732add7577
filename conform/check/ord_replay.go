package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// replayRules judge what a request sends back against what was emitted.
var replayRules = map[string]rule{
	"ORD-008/block-order":    blockOrder,
	"ORD-008/own-turn":       ownTurn,
	"ORD-009/calls-kept":     callsKept,
	"ORD-010/sent-once":      sentOnce,
	"ORD-011/arguments":      argumentsUnchanged,
	"ORD-013/text-unchanged": textUnchanged,
}

// blockOrder: what is sent back stands in the order it was emitted in.
func blockOrder(s *Trace, r *report) {
	for _, l := range s.links {
		last := -1
		for _, p := range l.pairs {
			if !p.exact {
				continue
			}
			if last >= 0 {
				r.addObserved(1)
			}
			if p.r < last {
				f := r.addChange(l, l.sent(p.q).Place, l.reply(p.r).Place, l.to.wire.RuleFor(wires.OutOfOrder),
					"%s stands after %s, which was emitted later", l.reply(p.r).What, l.reply(last).What)
				l.compareBlocks(f, -1).Consequence = unbound(l.to)
				if l.latest() && (l.isBound(p.r) || l.isBound(last)) {
					f.Consequence = specs.Refused // text, calls and shown thoughts may stand in any order
				}
			}
			last = max(last, p.r)
		}
	}
}

// isBound reports whether an item of the reply is hidden reasoning that the provider looks for in its place.
func (l *link) isBound(i int) bool {
	it := l.reply(i)
	return it.Continuity() && (it.HasToken || l.to.wire.Has(wires.ItemList))
}

// callsKept: no call of a whole reply is left out and none is added. A call
// that a token limit cut need not be sent back (D-8, D-16).
func callsKept(s *Trace, r *report) {
	for _, l := range s.links {
		if l.from.mayDropCalls(l.to) &&
			!slices.ContainsFunc(l.pairs, func(p pair) bool { return l.reply(p.r).What == wire.Call }) {
			continue
		}
		isLoop := false // a call was sent back as a call, and none of the reply is an answer in the form of one
		for _, p := range l.pairs {
			if l.reply(p.r).What == wire.Call {
				r.addObserved(1)
				isLoop = true
			}
		}
		for _, i := range l.missing {
			if it := l.reply(i); it.What == wire.Call && isRunnable(it) && l.from.reply.Usable() &&
				!l.from.mayBeLeftOut() && (isLoop || !isForcedAnswer(l.from, it)) {
				r.addObserved(1)
				r.addLostItem(l, i, "", "tool call %s of the reply is not sent back", it.Label())
			}
		}
		for _, q := range l.extra {
			if it := l.sent(q); it.What == wire.Call {
				r.addObserved(1)
				f := r.addFinding(l.to, it.Place, "",
					"tool call %s was not emitted by the reply it stands in (exchange %d)", it.Label(), l.from.Index)
				f.Consequence = specs.Degraded // clients put results there that the model did not ask for
			}
		}
	}
}

// isForcedAnswer reports whether the request forced this very call: the client asks
// for a structured answer, not for a tool, and may send it back as text.
func isForcedAnswer(x *exchange, call *wire.Item) bool {
	return call.What == wire.Call && call.Name != "" && call.Name == x.forcedTool()
}

// isRunnable reports whether a call arrived whole.
func isRunnable(it *wire.Item) bool {
	if !it.Done {
		return false
	}
	n, err := tree.Parse([]byte(it.Args))
	return !it.ArgsKnown || it.Type == "custom_tool_call" || it.Type == "custom" || err == nil && n.Is(tree.Object)
}

func sentOnce(s *Trace, r *report) {
	for _, l := range s.links {
		r.addObserved(len(l.pairs))
		for _, q := range l.again {
			it := l.sent(q)
			rule := "" // only ids are known to be refused the second time
			switch {
			case it.What == wire.Call:
				rule = l.to.wire.RuleFor(wires.RepeatedCall)
			case it.ItemID != "":
				rule = l.to.wire.RuleFor(wires.RepeatedItem)
			}
			f := r.addFinding(l.to, it.Place, rule, "%s is sent back a second time (reply of exchange %d)", it.What,
				l.from.Index)
			switch {
			case rule != "":
			case it.What == wire.Text:
				f.Consequence = specs.Unsafe // the model reads that it repeated itself
			default:
				f.Consequence = specs.Degraded
			}
		}
	}
}

// changedID returns the id of a call that does not come back, "" where it does, where
// the provider gave none, and where a recorder replaced ids. Gemini's may be left out.
func changedID(was, is *wire.Item) string {
	if was.ID == "" || is.ID == was.ID || is.ID == was.ItemID || is.ID == "" && is.Type == "functionCall" ||
		strings.Contains(was.ID+is.ID, "REDACTED") {
		return ""
	}
	return was.ID
}

// argumentsUnchanged: a call keeps its id, name and arguments. OpenAI's are a string and
// stay that string; elsewhere they are an object and stay that object as JSON.
func argumentsUnchanged(s *Trace, r *report) {
	s.eachPair("", wire.Call, func(l *link, p pair, was, is *wire.Item) {
		if !isRunnable(was) {
			return
		}
		r.addObserved(1)
		if id := changedID(was, is); id != "" {
			f := r.addChange(l, is.Place, was.Place, "", "tool call %s is sent back under the id %q",
				was.Label(), is.ID)
			compareIn(f, id, is.ID, outlineContext).Consequence = specs.Degraded
			return
		}
		if !was.ArgsKnown {
			return
		}
		if was.Name != is.Name {
			f := r.addChange(l, is.Place, was.Place, "", "tool call %q is sent back as %q", was.Name, is.Name)
			compareIn(f, was.Name, is.Name, outlineContext)
			return
		}
		if was.Args == is.Args {
			return
		}
		isSpelling := isEqualJSON(was.Args, is.Args)
		if isSpelling && !l.to.wire.Has(wires.TextArguments) {
			return
		}
		f := r.addChange(l, is.Place, was.Place, "", "argument text sent back for tool call %s %s", is.Label(),
			describeArguments(was.Args, is.Args))
		if isSpelling {
			f.Consequence = specs.Degraded
		}
	})
}

func isEqualJSON(a, b string) bool {
	m, errA := tree.Parse([]byte(a))
	n, errB := tree.Parse([]byte(b))
	return errA == nil && errB == nil && tree.Equal(m, n)
}

// textUnchanged: the visible text of a reply is sent back as it was, in as many
// pieces. White space alone may go, because providers refuse it.
func textUnchanged(s *Trace, r *report) {
	for _, l := range s.links {
		was, is := l.visibleTexts()
		if len(was)+len(is) == 0 || l.from.req.Doc.Int("n") > 1 || // the client chose a reply, and we read the first
			!l.from.reply.Usable() || answersInText(l, len(was)) {
			continue
		}
		r.addObserved(1)
		if begun := l.from.begunAnswer(); len(was) > 0 && len(is) > 0 && is[0].Text == begun+was[0].Text {
			was, is = was[1:], is[1:]
		}
		if l.to.joinedReplies(l.from) == nil {
			l.compareTexts(r, was, is)
		}
	}
}

// joinedReplies returns the replies that x sends back as one with that of from, in order, nil
// for none: where the model had reached its limit of tokens and was asked to go on, an agent may
// keep what came as one text, and leave its own words between out.
func (x *exchange) joinedReplies(from *exchange) []*exchange {
	at := slices.IndexFunc(x.replays, func(l *link) bool { return l.from == from })
	if at < 0 {
		return nil
	}
	chain, own := []*exchange{from}, 0
	for p := from.previous; p != nil && p.isGoneOnWith(chain[0]); p = p.previous {
		chain, own = slices.Insert(chain, 0, p), own+1
	}
	isNext := func(f *exchange) bool { return f.n < x.n && chain[len(chain)-1].isGoneOnWith(f) }
	for next := slices.IndexFunc(from.followers, isNext); next >= 0; next = slices.IndexFunc(chain[len(chain)-1].followers, isNext) {
		chain = append(chain, chain[len(chain)-1].followers[next])
	}
	if len(chain) == 1 {
		return nil
	}
	_, is := x.replays[at].visibleTexts()
	sent := joinTexts(is)
	for first := range own + 1 {
		end := 0
		for k, part := range chain[first:] {
			if end = endOfPart(sent, end, joinTexts(part.saidTexts())); end < 0 {
				break
			}
			if k > 0 && first+k >= own && end == len(sent) {
				return chain[first : first+k+1]
			}
		}
	}
	return nil
}

// endOfPart returns where a part of a joined text ends whose predecessor ends at byte end, -1 if the
// part does not stand there. A model that goes on may say its last words again, and they need not
// stand twice.
func endOfPart(text string, end int, part string) int {
	for at := end; at == end || at > max(-1, end-len(part)); at-- {
		if strings.HasPrefix(text[at:], part) {
			return at + len(part)
		}
	}
	return -1
}

// isGoneOnWith reports whether the limit of tokens cut the reply, and next asks for the rest.
func (x *exchange) isGoneOnWith(next *exchange) bool {
	return x.isCutByBudget() && next.previous == x && isAncestor(x, next)
}

// begunAnswer returns the text at the end of a request that the model is to continue, and
// that the client may send back as one text with what the model added.
func (x *exchange) begunAnswer() string {
	if n := len(x.req.Items); n > 0 && x.req.Items[n-1].Model() && x.req.Items[n-1].What == wire.Text {
		return x.req.Items[n-1].Text
	}
	return ""
}

// answersInText reports whether another text may stand for a reply with so many texts:
// the reply was a forced call, or white space, which no provider takes back.
func answersInText(l *link, texts int) bool {
	isText := func(it wire.Item) bool { return it.What == wire.Text }
	isAnswer := func(i int) bool { return isForcedAnswer(l.from, l.reply(i)) }
	return texts == 0 && slices.ContainsFunc(l.from.reply.Items, isText) || slices.ContainsFunc(l.missing, isAnswer)
}

// visibleTexts returns the visible texts of both sides, without blank ones.
func (l *link) visibleTexts() (was, is []*wire.Item) {
	was = l.from.saidTexts()
	referred := map[int]*wire.Item{}
	for _, p := range l.pairs {
		if l.sent(p.q).Type == referenceType {
			referred[p.q] = l.reply(p.r)
		}
	}
	for _, q := range l.items {
		// ORD-010 reports texts that are sent twice
		if it := cmp.Or(referred[q], l.sent(q)); isVisibleText(it) && !slices.Contains(l.again, q) {
			is = append(is, it)
		}
	}
	return was, is
}

// saidTexts returns the visible texts of the reply.
func (x *exchange) saidTexts() (texts []*wire.Item) {
	for it := range wire.Each(x.reply.Items) {
		if it.Model() && isVisibleText(it) {
			texts = append(texts, it)
		}
	}
	return texts
}

func isVisibleText(it *wire.Item) bool {
	return it.What == wire.Text && strings.TrimSpace(it.Text) != ""
}

// compareTexts adds a finding at the first text that is not the one emitted: the
// first difference from the front, unless a text is missing there.
func (l *link) compareTexts(r *report, was, is []*wire.Item) {
	k := 0
	for k < len(was) && k < len(is) && was[k].Text == is[k].Text {
		k++
	}
	at := l.sent(l.items[0]).Place
	if k < len(is) {
		at = is[k].Place
	}
	switch {
	case k == len(was) && k == len(is):
	case joinTexts(was) == joinTexts(is):
		f := r.addFinding(l.to, at, "", "%d texts of the reply of exchange %d are sent back as %d", len(was),
			l.from.Index, len(is))
		f.Consequence = unbound(l.to)
	case k == len(was):
		form := "a text of %d bytes stands in the reply of exchange %d, which emitted no such text"
		if l.isApart(is[k]) {
			form = "a message is inserted into the history: its text of %d bytes stands behind the reply of exchange %d, and no reply emitted it"
		}
		f := r.addFinding(l.to, at, "", form, len(is[k].Text), l.from.Index)
		f.Consequence = consequenceOfWords(l.to, was, is)
	case k == len(is) || len(was) > len(is) && k+1 < len(was) && was[k+1].Text == is[k].Text:
		f := r.addChange(l, at, was[k].Place, "", "text %q of the reply is not sent back", cutText(was[k].Text, window))
		lost := slices.IndexFunc(l.from.reply.Items, func(it wire.Item) bool { return it.Place == was[k].Place })
		l.compareBlocks(f, lost).Consequence = unbound(l.to)
		if l.to.wire.Has(wires.SignedThinking) && l.open() && l.isKept(lost-1) && l.isKept(lost+1) {
			f.Rule, f.Consequence = "A-37", specs.Refused // it joins thinking that stood apart
		}
	default:
		f := r.addChange(l, at, was[k].Place, "", "text sent back for the reply of exchange %d %s", l.from.Index,
			describeTextDifference(was[k].Text, is[k].Text))
		f.Consequence = consequenceOfWords(l.to, was, is)
	}
}

// isKept reports whether hidden reasoning stands at a place of the reply and is sent back.
func (l *link) isKept(i int) bool {
	return i >= 0 && i < len(l.from.reply.Items) && l.reply(i).Continuity() && !slices.Contains(l.missing, i)
}

// isApart reports whether a text stands in a message of its own, apart from all that the reply emitted.
func (l *link) isApart(text *wire.Item) bool {
	return !l.to.wire.Has(wires.ItemList) && len(l.pairs) > 0 &&
		!slices.ContainsFunc(l.pairs, func(p pair) bool { return l.sent(p.q).Msg == text.Msg })
}

// consequenceOfWords tells words that the model never said from a text that was
// trimmed, cut or edited, or from JSON that was spelt anew: most of the words sent back are
// not the model's. That is a false history, whatever the provider makes of it.
func consequenceOfWords(x *exchange, was, is []*wire.Item) specs.Consequence {
	said, invented := map[string]bool{}, 0
	for _, w := range strings.Fields(joinTexts(was)) {
		said[w] = true
	}
	sent := strings.Fields(joinTexts(is))
	for _, w := range sent {
		if !said[w] {
			invented++
		}
	}
	if 2*invented > len(sent) && !isEqualJSON(joinTexts(was), joinTexts(is)) {
		return specs.Unsafe
	}
	return unbound(x)
}

// unbound says what a changed reply leads to where the model binds its tokens to what
// stands before them and the request sends none: nothing is left to be refused.
func unbound(x *exchange) specs.Consequence {
	if hasBindingModel(x) && !x.bindsPrefix() {
		return specs.Degraded
	}
	return ""
}

func joinTexts(items []*wire.Item) string {
	var b strings.Builder
	for _, it := range items {
		b.WriteString(it.Text)
	}
	return b.String()
}
