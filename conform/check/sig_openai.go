package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// openAIRules judge reasoning items (reference §5.2, R15–R20).
var openAIRules = map[string]rule{
	"SIG-007/final-blob":     finalBlob,
	"SIG-008/reasoning-kept": reasoningKept,
	"SIG-009/followed":       reasoningFollowed,
	"SIG-010/summary":        summaryParts,
	"SIG-011/own-id":         ownID,
	"SIG-012/stateless":      requestsStateless,
	"SIG-012/asked-for":      reasoningAskedFor,
	"SIG-013/no-bare-ids":    noBareIDs,
	"SIG-021/hosted-kept":    hostedKept,
	"SIG-020/phase":          phaseKept,
}

// finalBlob: encrypted content is what output_item.done or the terminal event
// brought. What output_item.added brings is a draft (D-12).
func finalBlob(s *Trace, r *report) {
	s.eachPair(wires.EncryptedItems, wire.Thinking, func(l *link, p pair, was, is *wire.Item) {
		if was.Token == "" || !is.HasToken {
			return
		}
		r.addObserved(1)
		switch {
		case is.Token == was.Token || slices.Contains(was.AlsoTokens, is.Token):
		case slices.Contains(was.DraftTokens, is.Token):
			r.addChange(l, is.Under("encrypted_content"), was.TokenAt, "O-15",
				"encrypted content %s is the draft of output_item.added; output_item.done replaced it by %s",
				rules.Mask(is.Token), rules.Mask(was.Token))
		default:
			r.addChange(l, is.Under("encrypted_content"), was.TokenAt, "O-15", "encrypted content %s",
				s.describeToken(l.to, was.Token, is.Token))
		}
	})
	s.inventedTokens(r, wires.EncryptedItems, "O-15", "O-15", (*wire.Item).Continuity)
}

// reasoningKept: reasoning that led to calls is sent back with them while the
// turn goes on. Only encrypted reasoning can be sent back without the
// provider's memory, and a request may leave the whole history to that.
func reasoningKept(s *Trace, r *report) {
	for _, l := range s.links {
		if l.to.req.Stateful || !l.from.reply.Usable() {
			continue
		}
		if keeps := l.to.bookOf().KeepsReasoning; keeps != nil {
			rule, isSealed := keeps(&l.to.seen)
			l.reasoningTextKept(r, rule, isSealed)
		}
		if !l.to.wire.Has(wires.EncryptedItems) {
			continue
		}
		inLoop := l.open() && len(l.to.itemsOfKind(span{l.items[0], l.items[len(l.items)-1] + 1}, wire.Call)) > 0
		for _, p := range l.pairs {
			if l.reply(p.r).Token != "" && inLoop {
				r.addObserved(1)
			}
		}
		for _, i := range l.missing {
			if it := l.reply(i); it.What == wire.Thinking && (it.Token != "" && inLoop || l.keepsIDBehind(i)) {
				r.addObserved(1)
				f := r.addLostItem(l, i, "O-13",
					"reasoning item %s of the open turn is not sent back with the calls it led to", it.ItemID)
				f.Consequence = l.lostReasoning()
			}
		}
	}
}

// reasoningTextKept is about servers that want reasoning back with the calls it led to, as rule says, and go on
// without it. A changed token is SIG-015's.
func (l *link) reasoningTextKept(r *report, rule string, isSealed bool) {
	if rule == "" || !l.open() || len(l.to.itemsOfKind(span{l.items[0], l.items[len(l.items)-1] + 1}, wire.Call)) == 0 {
		return
	}
	isKept := func(it *wire.Item) bool { return it.Continuity() && (it.Token != "" || !isSealed) }
	for _, p := range l.pairs {
		if was, is := l.reply(p.r), l.sent(p.q); isKept(was) {
			if r.addObserved(1); was.Token == "" && was.Text != is.Text && !isMaskedByRecorder(was.Text, is.Text) {
				r.addChange(l, is.Place, was.Place, rule, "reasoning of the open turn %s",
					describeTextDifference(was.Text, is.Text)).Consequence = specs.Degraded
			}
		}
	}
	for _, i := range l.missing {
		if it := l.reply(i); isKept(it) {
			r.addObserved(1)
			r.addLostItem(l, i, rule, "%s of the open turn is not sent back with the calls it led to",
				it.Type).Consequence = specs.Degraded
		}
	}
}

// lostReasoning: a stored call that is named by its item id is refused without the
// reasoning before it, any other one is not.
func (l *link) lostReasoning() specs.Consequence {
	isStored := !l.to.req.Doc.False("store")
	if isStored && slices.ContainsFunc(l.items,
		func(q int) bool { return l.sent(q).What == wire.Call && l.sent(q).ItemID != "" }) {
		return specs.Refused
	}
	return ""
}

// keepsIDBehind reports whether the item behind reasoning item i is sent back under its
// id, and the provider has stored both: then it looks for the reasoning.
func (l *link) keepsIDBehind(i int) bool {
	next := l.sentFor(i + 1)
	return l.reply(i).ItemID != "" && l.isStored() && next != nil && next.ItemID != "" &&
		next.ItemID == l.reply(i+1).ItemID
}

// reasoningFollowed: what the model did after reasoning follows it (O-12).
func reasoningFollowed(s *Trace, r *report) {
	s.eachStep(func(x *exchange, said, _ []wire.Item) {
		if !x.wire.Has(wires.EncryptedItems) {
			return
		}
		followed := false
		for i := len(said) - 1; i >= 0; i-- {
			it := &said[i]
			if it.What != wire.Thinking {
				followed = true
				continue
			}
			r.addObserved(1)
			if i+1 < len(said) && x.losesFollower(it, &said[i+1]) {
				r.addFinding(x, it.Place, "O-12",
					"reasoning item %s is stored, and the message behind it has lost its id", it.ItemID)
			}
			if !followed {
				f := r.addFinding(x, it.Place, "O-12",
					"reasoning item %s is followed by nothing the model did", it.ItemID)
				f.Consequence = x.loneReasoning()
			}
		}
	})
}

// loneReasoning: of stored items the provider knows what followed. With store false no
// refusal is recorded, and the vendor's own client sends such requests.
func (x *exchange) loneReasoning() specs.Consequence {
	if x.req.Doc.False("store") {
		return specs.Degraded
	}
	return ""
}

// losesFollower reports whether the provider, which has stored the reasoning item,
// cannot tell that what follows is what followed it: a message without its id.
func (x *exchange) losesFollower(it, next *wire.Item) bool {
	return it.ItemID != "" && next.Type == "message" && next.ItemID == "" && !x.req.Doc.False("store") &&
		!x.atOtherHost()
}

// summaryParts: a summary stays a list of the same parts (R18).
func summaryParts(s *Trace, r *report) {
	s.eachPair(wires.EncryptedItems, wire.Thinking, func(l *link, p pair, was, is *wire.Item) {
		if !was.Done || slices.Equal(was.Summary, is.Summary) || !is.Node.Get("summary").Is(tree.Array) {
			return
		}
		at := is.Under("summary")
		if len(was.Summary) != len(is.Summary) {
			f := r.addChange(l, at, was.Place, "", "summary had %d parts, has %d", len(was.Summary), len(is.Summary))
			compareIn(f, strings.Join(was.Summary, " | "), strings.Join(is.Summary, " | "), textContext)
			return
		}
		for k := range was.Summary {
			if was.Summary[k] != is.Summary[k] {
				r.addChange(l, at, was.Place, "", "summary part %d %s", k,
					describeTextDifference(was.Summary[k], is.Summary[k]))
				return
			}
		}
	})
}

// ownID: a blob verifies only under the id it was issued with, or under none.
func ownID(s *Trace, r *report) {
	s.eachPair(wires.EncryptedItems, wire.Thinking, func(l *link, p pair, was, is *wire.Item) {
		if is.Token == "" || is.ItemID == "" || was.ItemID == "" {
			return
		}
		r.addObserved(1)
		if is.ItemID != was.ItemID {
			f := r.addChange(l, is.Under("id"), was.Place, "O-15", "encrypted content of %s is sent under the id %s",
				was.ItemID, is.ItemID)
			compareIn(f, was.ItemID, is.ItemID, outlineContext)
		}
	})
}

// requestsStateless: an agent that keeps its own history says so, and asks for what it
// needs to keep it (D-11).
func requestsStateless(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.wire.Has(wires.EncryptedItems) || s.ev.Source == evidence.SourceRecording {
			return // other agents may rely on the provider's memory
		}
		r.addObserved(1)
		at := wire.Place{Event: -1, Off: 0, Path: "store"}
		if !x.req.Doc.False("store") {
			r.addFinding(x, at, "O-14", "store is not false, so the provider keeps the conversation as well")
		}
		if at.Path = "include"; !x.asksForReasoning() {
			r.addFinding(x, at, "",
				"include does not ask for reasoning.encrypted_content, so reasoning cannot be sent back")
		}
	})
}

// asksForReasoning reports whether the reply is to hold reasoning that can be sent back.
func (x *exchange) asksForReasoning() bool {
	isAsked := func(n *tree.Node) bool { return n.Text() == "reasoning.encrypted_content" }
	return slices.ContainsFunc(x.req.Doc.List("include"), isAsked)
}

// reasoningAskedFor: in a tool loop whose history the agent keeps itself, reasoning that
// the model did is asked for and sent back, or the model loses it.
func reasoningAskedFor(s *Trace, r *report) {
	for _, l := range s.links {
		if !l.to.wire.Has(wires.EncryptedItems) || !l.open() || !l.latest() || l.to.req.Stateful ||
			!isProvidersModel(l.to) || !hasReasoned(l.from) {
			continue
		}
		run := span{l.items[0], l.items[len(l.items)-1] + 1}
		if len(l.to.itemsOfKind(run, wire.Call)) == 0 ||
			slices.ContainsFunc(l.to.req.Items, func(it wire.Item) bool { return it.Type == "item_reference" }) {
			continue
		}
		r.addObserved(1)
		isReasoning := func(it wire.Item) bool { return it.What == wire.Thinking }
		hasToken := func(it wire.Item) bool { return isReasoning(it) && it.Token != "" }
		if l.from.asksForReasoning() || slices.ContainsFunc(l.from.reply.Items, hasToken) ||
			slices.ContainsFunc(l.to.req.Items[run.from:run.to], isReasoning) {
			continue // of reasoning that was asked for and did not come, there is nothing to send back
		}
		why := "was not asked for and is not sent back"
		if !l.from.req.Doc.False("store") {
			why = "is stored with the provider, and the request neither sends nor names it"
		}
		r.addFinding(l.to, l.sent(l.items[0]).Place, "",
			"the model reasoned before these calls (exchange %d); its reasoning %s", l.from.Index, why)
	}
}

// hasReasoned reports whether a reply shows reasoning or counts tokens of it.
func hasReasoned(x *exchange) bool {
	if slices.ContainsFunc(x.reply.Items, func(it wire.Item) bool { return it.What == wire.Thinking }) {
		return true
	}
	doc := x.reply.Doc
	if n := len(x.reply.Events); n > 0 {
		doc = x.reply.Events[n-1].JSON.Get("response")
	}
	return doc.Get("usage", "output_tokens_details").Int("reasoning_tokens") > 0
}

// contentMembers hold what an item of a tool that OpenAI runs is worth. An item without it is
// a name for the stored one.
var contentMembers = map[string][]string{
	"image_generation_call": {"result"}, "web_search_call": {"action"}, "file_search_call": {"queries"},
	"code_interpreter_call": {"code"},
	"mcp_call":              {"arguments"}, "mcp_list_tools": {"tools"}, "computer_call": {"action", "actions"},
}

// noBareIDs: what the provider has not stored cannot be named by id (O-14). An item was stored
// as the request for it says, and else as this one does.
func noBareIDs(s *Trace, r *report) {
	type emission struct {
		in *exchange
		*wire.Item
	}
	known := map[string]emission{}
	isUnstored := func(x *exchange) bool { return x.req.Doc.False("store") }
	for _, x := range s.x {
		if !x.wire.Has(wires.EncryptedItems) {
			continue
		}
		for it := range wire.Each(x.req.Items) {
			was, isKnown := known[it.ItemID]
			members := contentMembers[it.Type]
			isNamed := it.What == wire.Thinking || it.Type == referenceType || it.Type == "image_generation_call"
			isOther := members != nil && !isNamed && isKnown &&
				was.Begun().Any(members...) != nil // of some, no words are known
			asks := x.asksForAnswer() || x.isWarmUp()
			if !asks || !isNamed && !isOther || isKnown && !isUnstored(was.in) || !isKnown && !isUnstored(x) {
				continue
			}
			r.addObserved(1)
			if it.ItemID == "" || it.Token != "" || members != nil && !it.Node.Any(members...).Null() {
				continue
			}
			if isUnstored(x) {
				r.addFinding(x, it.Place, "O-14", "%s %s relies on storage that store:false switched off",
					it.Type, it.ItemID)
			} else {
				r.addFinding(x, it.Place, "O-14",
					"%s %s relies on storage that store:false switched off in exchange %d, which asked for it", it.Type,
					it.ItemID, was.in.Index)
			}
			if isOther {
				r.Findings[len(r.Findings)-1].Consequence = specs.Degraded
			}
		}
		for it := range wire.Each(x.reply.Items) {
			if it.ItemID != "" {
				known[it.ItemID] = emission{x, it}
			}
		}
	}
}

// hostedKept: what a tool that OpenAI runs has done stands in the turn that goes on. Its loss
// is refused where the stored reasoning before it is sent back (O-12). A call that failed has
// done nothing.
func hostedKept(s *Trace, r *report) {
	for _, l := range s.links {
		if !l.to.wire.Has(wires.EncryptedItems) || l.to.req.Stateful || !l.from.reply.Usable() {
			continue
		}
		for _, p := range l.pairs {
			if contentMembers[l.reply(p.r).Type] != nil {
				r.addObserved(1)
			}
		}
		for _, i := range l.missing {
			it := l.reply(i)
			isRefused := l.keepsStoredReasoningBefore(i)
			if contentMembers[it.Type] == nil || it.Begun().Text("status") == "failed" || !isRefused && !l.open() {
				continue
			}
			r.addObserved(1)
			if isRefused {
				r.addLostItem(l, i, "O-12", "reasoning item %s is stored, and %s %s, to which it led, is not sent back",
					l.reply(i-1).ItemID, it.Type, it.ItemID)
			} else {
				r.addLostItem(l, i, "", "%s %s of the open turn is not sent back", it.Type,
					it.ItemID).Consequence = specs.Degraded
			}
		}
	}
}

// keepsStoredReasoningBefore reports whether the item before item i is reasoning that is sent
// back under its id, and the provider has stored both.
func (l *link) keepsStoredReasoningBefore(i int) bool {
	if i == 0 || l.reply(i-1).What != wire.Thinking || l.reply(i-1).ItemID == "" || !l.isStored() ||
		l.to.atOtherHost() {
		return false
	}
	sent := l.sentFor(i - 1)
	return sent != nil && sent.ItemID == l.reply(i-1).ItemID
}

// isStored reports whether the provider keeps the items of both exchanges.
func (l *link) isStored() bool {
	return !l.to.req.Doc.False("store") && !l.from.req.Doc.False("store")
}

// phaseKept: a message keeps the phase it was emitted with (R20).
func phaseKept(s *Trace, r *report) {
	s.eachPair(wires.EncryptedItems, wire.Text, func(l *link, p pair, was, is *wire.Item) {
		if was.Phase == "" || l.isForOtherModel() || l.from.reply.End == wire.Cut {
			return
		}
		r.addObserved(1)
		if is.Phase != was.Phase {
			r.addChange(l, is.Place, was.Place, "", "message was emitted with phase %q and is sent back with %q",
				was.Phase, is.Phase)
		}
	})
}
