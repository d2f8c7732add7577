package check

import (
	"slices"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// anthropicRules judge thinking and redacted thinking (reference §5.1, R1–R8).
var anthropicRules = map[string]rule{
	"SIG-001/signature-bytes": signatureBytes,
	"SIG-001/thinking-text":   thinkingText,
	"SIG-002/kept":            thinkingKept,
	"SIG-003/redacted-data":   redactedData,
	"SIG-004/leads":           thinkingLeads,
	"SIG-006/contiguous":      thinkingContiguous,
}

func signatureBytes(s *Trace, r *report) {
	s.eachPair(wires.SignedThinking, wire.Thinking, func(l *link, p pair, was, is *wire.Item) {
		if !was.HasToken || !is.HasToken {
			return
		}
		r.addObserved(1)
		if was.Token != is.Token {
			r.addChange(l, is.Under("signature"), was.TokenAt, "A-34", "signature %s",
				s.describeToken(l.to, was.Token, is.Token))
		}
	})
	s.inventedTokens(r, wires.SignedThinking, "A-37", "A-34", (*wire.Item).Continuity)
}

func thinkingText(s *Trace, r *report) {
	s.eachPair(wires.SignedThinking, wire.Thinking, func(l *link, p pair, was, is *wire.Item) {
		if !is.HasToken {
			return
		}
		r.addObserved(1)
		if was.Text != is.Text {
			r.addChange(l, is.Under("thinking"), was.Place, "A-37", "thinking text under its signature %s",
				describeTextDifference(was.Text, is.Text))
		}
	})
}

// thinkingKept: as long as the turn goes on, none of its thinking is left out.
// Before the turn the API leaves it out itself (ANT-T8), and so does a client
// that switched thinking off. A model that goes on for another one gets no thinking: SIG-019 asks for that.
func thinkingKept(s *Trace, r *report) {
	for _, l := range s.links {
		if !l.to.wire.Has(wires.SignedThinking) || !l.open() || !l.from.reply.Usable() || !thinkingOn(l) ||
			!l.to.keepsThinking() && specs.ParseModel(l.to.req.Model).Bare != specs.ParseModel(l.from.req.Model).Bare {
			continue
		}
		for _, p := range l.pairs {
			if l.reply(p.r).Continuity() {
				r.addObserved(1)
			}
		}
		for _, i := range l.missing {
			if it := l.reply(i); it.Continuity() && it.HasToken && it.Token != "" && !l.isRetyped(i) {
				r.addObserved(1)
				f := r.addLostItem(l, i, "A-37", "%s block %s of the open turn is not sent back", it.What,
					rules.Mask(it.Token))
				f.Consequence = lostThinking(l.to)
			}
		}
	}
}

// isRetyped reports whether item i of the reply was sent back as a block of another type.
func (l *link) isRetyped(i int) bool {
	return slices.ContainsFunc(l.extra, func(q int) bool { return l.sent(q).Token == l.reply(i).Token })
}

// lostThinking says what it leads to that thinking of the open turn is left out: a
// part of it is refused on every model, all of it on those with a thinking budget.
func lostThinking(x *exchange) specs.Consequence {
	switch {
	case x.keepsThinking():
		return specs.Refused
	case thinkingType(x) == "adaptive":
		return specs.Degraded
	}
	return ""
}

// keepsThinking reports whether the open turn of the request holds thinking.
func (x *exchange) keepsThinking() bool {
	return slices.ContainsFunc(x.req.Items[x.turn:], func(it wire.Item) bool { return it.Continuity() })
}

// thinkingOn reports whether the request wants thinking, by its own words or,
// like the request that brought the reply, by the model's default.
func thinkingOn(l *link) bool {
	now, then := thinkingType(l.to), thinkingType(l.from)
	return now != "disabled" && (now != "" || then == "")
}

func thinkingType(x *exchange) string { return x.req.Doc.Text("thinking", "type") }

func redactedData(s *Trace, r *report) {
	s.eachPair(wires.SignedThinking, wire.Redacted, func(l *link, p pair, was, is *wire.Item) {
		r.addObserved(1)
		if was.Token != is.Token {
			r.addChange(l, is.Under("data"), was.TokenAt, "A-36", "data of redacted thinking %s",
				s.describeToken(l.to, was.Token, is.Token))
		}
	})
}

// thinkingLeads: with a thinking budget, the assistant message before the last
// results starts with thinking if it was emitted so. Adaptive thinking does not
// ask for it. Where no reply is known, the form of the request says the same. A loop that
// began without thinking ends without.
func thinkingLeads(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		i := slices.IndexFunc(x.runs, func(run span) bool { return run.from >= x.turn })
		if !x.wire.Has(wires.SignedThinking) || thinkingType(x) != "enabled" || i < 0 || len(x.replays) > 0 {
			return
		}
		end := len(x.req.Items)
		if last := x.runs[len(x.runs)-1]; last.to == end {
			end = last.from // the answer is prefilled
		}
		if end == 0 || x.req.Items[end-1].What != wire.Result {
			return
		}
		r.addObserved(1)
		if first := &x.req.Items[x.runs[i].from]; !first.Continuity() {
			r.addFinding(x, first.Place, "A-38", "the turn of an open tool loop starts with %s, not with thinking",
				first.What)
		}
	})
	for _, l := range s.links {
		if !l.to.wire.Has(wires.SignedThinking) || thinkingType(l.to) != "enabled" || !l.latest() || !l.open() {
			continue
		}
		items, run := l.from.reply.Items, l.to.runs[len(l.to.runs)-1]
		couldThink := thinkingType(l.from) == "enabled" || thinkingType(l.from) == "adaptive"
		if !items[0].Continuity() && couldThink || len(l.to.itemsOfKind(run, wire.Call)) == 0 {
			continue // the model did not think
		}
		r.addObserved(1)
		if !items[0].Continuity() {
			r.addFinding(l.to, l.sent(l.items[0]).Place, "A-38",
				"thinking is switched on in an open tool loop, whose reply was made without thinking (%s)",
				emittedAt(l.from, items[0].Place))
			continue
		}
		leads := l.to.req.Items[run.from].Continuity() // of the message, which several replies may stand in
		if first := l.sent(l.items[0]); !leads && !first.Continuity() {
			l.compareBlocks(r.addChange(l, first.Place, items[0].Place, "A-38",
				"assistant message starts with %s, not with the thinking it was emitted with", first.What), 0)
		}
	}
}

// thinkingContiguous: thinking may be left out from the start or to the end of
// a conversation, not from its middle (A-41, ANT-B2).
func thinkingContiguous(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.wire.Has(wires.SignedThinking) {
			return
		}
		kept := 0
		var hole *link
		holeItem := 0
		for _, l := range x.replays {
			for i := range l.from.reply.Items {
				it, sent := l.reply(i), l.sentFor(i) != nil || l.isRetyped(i)
				switch {
				case !it.Continuity() || it.Token == "":
				case !sent && kept > 0 && hole == nil:
					hole, holeItem = l, i
				case sent && hole != nil:
					r.addLostItem(hole, holeItem, "A-41", "%s block %s is left out between others that are sent back",
						hole.reply(holeItem).What, rules.Mask(hole.reply(holeItem).Token))
					return
				case sent:
					if kept++; kept > 2 { // those before it had a middle, which could be left out
						r.addObserved(1)
					}
				}
			}
		}
	})
}
