package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// resumeRules judge that a conversation only grows, above all when another
// process goes on with it (R37, R44).
var resumeRules = map[string]rule{
	"RES-001/prefix":     resumePrefix,
	"RES-001/reasoning":  resumeReasoning,
	"RES-002/system":     systemConstant,
	"RES-002/tools":      toolsConstant,
	"RES-003/history":    historyKept,
	"RES-004/last-reply": lastReplyKept,
	"RES-005/closed":     resumeClosed,
	"RES-006/once":       resumeOnce,
	// Members of a message have no order in a prompt, those of a call's arguments do.
	"RES-007/bytes": func(s *Trace, r *report) { s.eachNext(r.compareBytes) },
}

// resumption is the first request of a process that resumed a conversation, and the
// last request of that conversation before it.
type resumption struct{ before, first *exchange }

// allResumptions pairs each conversation that a resumed process goes on with with
// its end before that process. A conversation that nothing of the process recalls is
// paired with the request that looks most like it: its history was lost. An agent that a call
// starts has none.
func (s *Trace) allResumptions() (list []resumption) {
	for n := range s.ev.Process {
		if !s.ev.Process[n].Resumed {
			continue
		}
		continued := map[int]bool{}
		var lost []*exchange
		for _, first := range s.firstOfProcess(n) {
			if tip := first.tipBefore(n); tip != nil {
				continued[tip.conversation] = true
				list = append(list, resumption{tip, first})
			} else if first.kind == Main && !s.isStartedByCall(first) {
				lost = append(lost, first)
			}
		}
		for _, first := range lost {
			if before := s.lostConversation(first, continued); before != nil {
				continued[before.conversation] = true
				list = append(list, resumption{before, first})
			}
		}
	}
	return list
}

// firstOfProcess lists for each conversation in process n its first exchange there.
func (s *Trace) firstOfProcess(n int) (firsts []*exchange) {
	seen := map[int]bool{}
	for _, x := range s.x {
		if x.Process == n && x.conversation >= 0 && !seen[x.conversation] {
			seen[x.conversation] = true
			firsts = append(firsts, x)
		}
	}
	return firsts
}

// tipBefore returns the last exchange before process n of the branch that x
// continues, nil when it continues none. A branch ends with its process: two
// processes may resume the same session, and the later one is a fork. Neither a side
// branch belongs to it, nor a reply that x sends back as the end of an earlier one.
func (x *exchange) tipBefore(n int) *exchange {
	start := x.previous
	for start != nil && start.Process >= n {
		start = start.previous
	}
	if start == nil {
		return nil
	}
	joined, tip := x.joinedReplies(start), start
	for queue := []*exchange{start}; len(queue) > 0; queue = queue[1:] {
		for _, f := range queue[0].followers {
			if f.Process == start.Process && f.conversation == start.conversation && !f.beginsSideBranch() &&
				!slices.Contains(joined, f) {
				queue = append(queue, f)
				if f.n > tip.n {
					tip = f
				}
			}
		}
	}
	return tip
}

// beginsSideBranch reports whether x asks on the side. Where the model had ended its turn, a
// process may ask with a copy of the conversation for a suggestion to the user, or for what
// is worth remembering. It asks once, and no other process goes on with the answer. A turn of
// the user that the next process leaves out looks the same: the user may have gone back.
func (x *exchange) beginsSideBranch() bool {
	if !x.opensTurn() || x.previous.Process != x.Process {
		return false
	}
	for queue := []*exchange{x}; len(queue) > 0; queue = queue[1:] {
		for _, f := range queue[0].followers {
			if f.Process != x.Process || f.opensTurn() {
				return false
			}
			queue = append(queue, f)
		}
	}
	return true
}

// opensTurn reports whether x asks something new where the model had ended its turn.
func (x *exchange) opensTurn() bool {
	p := x.previous
	if p == nil || !p.isAnswer() ||
		slices.ContainsFunc(p.reply.Items, func(it wire.Item) bool { return it.What == wire.Call }) {
		return false
	}
	return x.base == p && x.turn > 0 || x.base != p && x.turn > len(p.req.Items)
}

// isAnswer reports whether the reply is whole and neither declined, cut nor empty.
func (x *exchange) isAnswer() bool {
	return x.canBeSentBack() && unansweredReason(x) == "" && !x.mayBeLeftOut()
}

// lostConversation returns the end of the latest conversation before the process of
// first that it does not continue. Beside a conversation that it does continue, another one must have
// the same system prompt and tools, and have run beside that one, to be taken for lost: of
// conversations that followed one another, each may be a task of its own.
func (s *Trace) lostConversation(first *exchange, continued map[int]bool) *exchange {
	for k := first.n - 1; k >= 0; k-- {
		x := s.x[k]
		switch {
		case x.Process < 0 || x.Process >= first.Process || x.Provider != first.Provider:
		case x.conversation < 0 || continued[x.conversation] || s.startKind(x) != Main || x.isOnSideBranch():
		case x.reply.End == wire.Refused && !x.isTransient() &&
			x.lastReply() == nil: // no history yet, and the prompt may go
		case len(continued) == 0 || sameSystem(x.req.System, first.req.System) &&
			tree.Equal(x.req.Tools, first.req.Tools, "cache_control") && s.ranBeside(x, continued):
			return x
		}
	}
	return nil
}

// ranBeside reports whether one of some conversations began before x and went on after the
// conversation of x had begun.
func (s *Trace) ranBeside(x *exchange, conversations map[int]bool) bool {
	start := slices.IndexFunc(s.x, func(o *exchange) bool { return o.conversation == x.conversation })
	return slices.ContainsFunc(s.x[:x.n], func(a *exchange) bool {
		return conversations[a.conversation] && slices.ContainsFunc(s.x[start:], func(b *exchange) bool {
			return b.conversation == a.conversation && b.Process <= x.Process
		})
	})
}

// isStartedByCall reports whether an earlier call holds the prompt with which x begins.
func (s *Trace) isStartedByCall(x *exchange) bool {
	words := openingWords(x)
	return len(words) >= longText && slices.ContainsFunc(s.x[:x.n], func(o *exchange) bool {
		return slices.ContainsFunc(o.reply.Items,
			func(it wire.Item) bool { return it.What == wire.Call && strings.Contains(it.Args, words) })
	})
}

// startKind is the kind of the exchange that started x's conversation.
func (s *Trace) startKind(x *exchange) Kind {
	for x.previous != nil && x.previous.conversation == x.conversation && x.previous.n < x.n {
		x = x.previous
	}
	return x.kind
}

// recallsItself reports whether the first request of a resumption carries its
// history, rather than a summary of it or a reference to what the provider keeps.
func (p resumption) recallsItself() bool {
	return p.first.kind != Compacted && !p.first.isKeptByProvider()
}

// isKeptByProvider reports whether the provider adds the history to the request. What a
// warm-up brought is no history.
func (x *exchange) isKeptByProvider() bool {
	return x.wire.Has(wires.StoresReplies) && x.req.Stateful &&
		(x.base == nil || !x.base.isWarmUp() || x.base.isKeptByProvider())
}

func resumePrefix(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		if p.recallsItself() {
			r.comparePrefix(p.before, p.first)
		}
	}
}

// resumeReasoning: reasoning of OpenAI's models that stood in the last request before, or came
// as ciphertext with its reply, is part of the transcript. The model misses it while its turn
// goes on; another model cannot read it, and one that was refused must go. What an agent
// leaves out of every closed turn is not lost by its resume.
func resumeReasoning(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		if !p.first.wire.Has(wires.EncryptedItems) || !p.recallsItself() || s.isShortenedSince(p.before, p.first) ||
			s.hasRefusedReasoning(p) {
			continue
		}
		dropsClosed := slices.ContainsFunc(s.links, func(l *link) bool {
			return l.to.n < p.first.n && !l.open() &&
				slices.ContainsFunc(l.missing, func(i int) bool { return l.reply(i).What == wire.Thinking })
		})
		for _, l := range p.first.replays {
			held := p.before.reasoningOf(l.from)
			for i := range l.from.reply.Items {
				at, isHeld := held[i]
				if !isHeld {
					continue
				}
				r.addObserved(1)
				var f *Finding
				switch was, is := l.reply(i), l.sentFor(i); {
				case l.isForOtherModel(), dropsClosed && !l.open():
				case is == nil:
					f = r.addLostItem(l, i, "", "reasoning item %s, which exchange %d held%s, is gone", was.ItemID,
						p.before.Index, at)
				case was.Token != "" && is.Token == "" && is.Type != referenceType:
					f = r.addChange(l, is.Place, was.Place, "",
						"reasoning item %s, which exchange %d held%s, has lost its encrypted content", was.ItemID,
						p.before.Index, at)
				}
				if f != nil && !l.open() {
					f.Consequence = specs.Degraded
				}
			}
		}
	}
}

// reasoningOf says where x holds the reasoning of a reply, by the ordinal of the item there: in
// its request or, as ciphertext, in its own reply.
func (x *exchange) reasoningOf(from *exchange) map[int]string {
	held := map[int]string{}
	for _, l := range x.replays {
		for _, p := range l.pairs {
			if l.from == from && l.reply(p.r).What == wire.Thinking {
				held[p.r] = " at " + l.sent(p.q).Place.Path
			}
		}
	}
	if from == x && x.reply.Usable() {
		for i := range x.reply.Items {
			if it := &x.reply.Items[i]; it.What == wire.Thinking && it.Token != "" {
				held[i] = " in its reply"
			}
		}
	}
	return held
}

// hasRefusedReasoning reports whether the provider refused reasoning of the conversation
// before: it goes on without it.
func (s *Trace) hasRefusedReasoning(p resumption) bool {
	return slices.ContainsFunc(s.x[:p.first.n], func(x *exchange) bool {
		return x.conversation == p.before.conversation &&
			slices.Contains([]string{"O-12", "O-14", "O-15"}, x.refusal.Rule)
	})
}

// eachNext calls f for every request of a conversation and the earlier one whose
// reply it continues, and for every resumption. What the provider keeps and what
// a summary replaced is not compared.
func (s *Trace) eachNext(f func(then, now *exchange)) {
	for _, x := range s.x {
		then := x.lastReply()
		if joined := x.joinedReplies(then); len(joined) > 0 {
			then = joined[0]
		}
		if then != nil && then.asksForAnswer() && !then.isKeptByProvider() && !x.kind.isSide() && x.kind != Compacted &&
			!x.isKeptByProvider() {
			f(then, x)
		}
	}
	for _, p := range s.allResumptions() {
		if p.first.lastReply() == nil && p.recallsItself() {
			f(p.before, p.first)
		}
	}
}

// lastReply returns the exchange whose reply stands last in x's request.
func (x *exchange) lastReply() *exchange {
	for n := len(x.owners) - 1; n >= 0; n-- {
		if from := lastOwner(x.owners[n]); from != nil {
			return from
		}
	}
	return nil
}

// bindsPrefix reports whether x sends state that its model has bound to all that
// stands before it.
func (x *exchange) bindsPrefix() bool {
	return hasBindingModel(x) && slices.ContainsFunc(x.req.Items,
		func(it wire.Item) bool { return it.Token != "" && it.Model() })
}

func hasBindingModel(x *exchange) bool {
	m := specs.ParseModel(x.modelAsked())
	return m.Family == "claude" &&
		(m.HasWord("fable") && !m.IsBefore(5, 1) || (m.HasWord("opus") || m.HasWord("sonnet")) && !m.IsBefore(5, 5))
}

// addPrefixFinding adds a finding about what stands before replies. A model that
// binds its tokens to it refuses the request only where a token is sent.
func (r *report) addPrefixFinding(x *exchange, at wire.Place, format string, args ...any) *Finding {
	if x.bindsPrefix() {
		return r.addFinding(x, at, "A-41", format, args...)
	}
	f := r.addFinding(x, at, "", format, args...)
	if hasBindingModel(x) {
		f.Consequence = specs.Degraded
	}
	return f
}

// lastReplyKept: a reply that arrived whole is not lost, with the process or
// without. One that ended without being an answer may go with the process that said so.
func lastReplyKept(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		if p.before.isAnswer() && p.first.kind != Compacted && !s.isShortenedSince(p.before, p.first) &&
			!p.before.mayDropCalls(p.first) {
			r.judgeLastReply(p.before, p.first)
		}
	}
	for _, x := range s.x {
		p := x.previous
		if p == nil || x.kind.isSide() || x.kind == Compacted || p.Process != x.Process || !p.canBeSentBack() ||
			!sameSystem(p.req.System, x.req.System) {
			continue
		}
		if x.sameRequest(p) || p.isContinuedBeside(x) || p.mayBeLeftOut() || s.isShortenedSince(p, x) {
			continue // asked again, another branch has the reply, it may be left out (ERR-004), or was too long
		}
		if f := r.judgeLastReply(p, x); f != nil && f.Consequence == "" {
			f.Consequence = specs.Degraded // the client may have meant to drop it
		}
	}
}

// mayBeLeftOut reports whether a whole reply need not go back: it was declined, broke off
// for another reason than its length, or holds nothing that can stand alone (A-40, O-12).
func (x *exchange) mayBeLeftOut() bool {
	stands := func(it wire.Item) bool {
		return it.What != wire.Thinking && it.What != wire.Redacted &&
			(it.What != wire.Text || it.HasToken || isVisibleText(&it))
	}
	isCut, items := slices.Contains(cutStops, x.reply.Stop), x.reply.Items
	if last := len(items) - 1; isCut && last >= 0 && items[last].What == wire.Call {
		items = items[:last] // its arguments may be cut
	}
	return x.wasDeclined() || unansweredReason(x) != "" && !isCut || !slices.ContainsFunc(items, stands)
}

// mayDropCalls reports whether now, which another process sent, may leave out the calls of the reply of x. Their
// process ended before the results were sent.
func (x *exchange) mayDropCalls(now *exchange) bool {
	return x.wire.Has(wires.DropsOpenCalls) && now.Process != x.Process &&
		slices.ContainsFunc(x.reply.Items, func(it wire.Item) bool { return it.What == wire.Call }) &&
		!slices.ContainsFunc(x.followers, func(f *exchange) bool { return f.Process == x.Process })
}

// isContinuedBeside reports whether another request than now sends the reply back.
func (x *exchange) isContinuedBeside(now *exchange) bool {
	return slices.ContainsFunc(x.followers, func(f *exchange) bool { return f != now && isAncestor(x, f) })
}

func (r *report) judgeLastReply(before, now *exchange) *Finding {
	if now.isKeptByProvider() && now.previous == before {
		return nil // the provider adds it
	}
	r.addObserved(1)
	if isAncestor(before, now) {
		return nil
	}
	said := before.reply.Items[0].Place
	if now.joinsToPart(before) {
		return nil
	}
	at := wire.At(nil, "")
	if it := now.saidByUser(before); it != nil {
		f := r.addFinding(now, it.Place, "", "what the model said in exchange %d is sent as words of the %s (%s)",
			before.Index, it.Role, emittedAt(before, said))
		f.Consequence = specs.Unsafe
		return f
	}
	f := r.addFinding(now, at, "", "the conversation goes on without the last reply (%s)", emittedAt(before, said))
	f.Emitted = emissionAt(before, said)
	return f
}

// joinsToPart reports whether x sends the text of the reply of before as one with the part of an earlier reply that
// before had sent for the model to go on with.
func (x *exchange) joinsToPart(before *exchange) bool {
	isSaid := func(it wire.Item) bool { return it.Model() && isVisibleText(&it) }
	for _, was := range before.reply.Items {
		for _, it := range x.req.Items {
			said, ok := strings.CutSuffix(it.Text, was.Text)
			if ok && isSaid(was) && isSaid(it) && slices.ContainsFunc(before.req.Items,
				func(part wire.Item) bool { return isSaid(part) && part.Text == said }) {
				return true
			}
		}
	}
	return false
}

// saidByUser returns the item of x that says as the client's what the reply of
// before said, nil when there is none.
func (x *exchange) saidByUser(before *exchange) *wire.Item {
	for it := range wire.Each(x.req.Items) {
		if it.Model() || it.What != wire.Text || len(it.Text) == 0 {
			continue
		}
		for was := range wire.Each(before.reply.Items) {
			if isVisibleText(was) && was.Text == it.Text {
				return it
			}
		}
	}
	return nil
}

func resumeClosed(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		for _, pass := range p.first.aspects["ORD-001/answered"] {
			r.addPass(p.first, pass)
		}
		s.judgeKept(p.first, r)
	}
}

// resumeOnce: after the old transcript comes only what is new: results and
// prompts, nothing the model said and nothing a second time.
func resumeOnce(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		r.addObserved(1)
		end := 0
		for _, l := range p.first.replays {
			end = max(end, l.items[len(l.items)-1]+1)
			for _, q := range l.again {
				it := l.sent(q)
				f := r.addFinding(p.first, it.Place, "", "%s of the reply of exchange %d is sent back twice", it.What,
					l.from.Index)
				if it.What != wire.Call && it.ItemID == "" {
					f.Consequence = specs.Degraded // see sentOnce
				}
			}
		}
		if s.leftProvider(p) || s.isShortenedSince(p.before, p.first) {
			continue // what another provider said stands there as well, or not all that stood there
		}
		known := len(p.before.base.heldItems()) + len(p.before.req.Items) - len(p.first.base.heldItems())
		for q := max(end, known, 0); q < len(p.first.req.Items); q++ {
			it := &p.first.req.Items[q]
			isInvented := it.What == wire.Call &&
				!slices.ContainsFunc(slices.Concat(p.before.req.Items, p.first.req.Items[:q]),
					func(o wire.Item) bool { return o.ID == it.ID })
			if k := indexOfResult(p.before.req.Items, it); k >= 0 || it.Model() && !isInvented {
				r.addFinding(p.first, it.Place, "", "%s stands again after the transcript it belongs to", it.What)
			}
		}
	}
}

// leftProvider reports whether another provider was asked between the two requests of a
// resumption.
func (s *Trace) leftProvider(p resumption) bool {
	return slices.ContainsFunc(s.x[p.before.n:p.first.n],
		func(x *exchange) bool { return x.Provider != p.first.Provider && x.asksForAnswer() })
}

// indexOfResult finds a result the old transcript already holds. A user may say the
// same thing twice, a tool does not answer one call twice.
func indexOfResult(items []wire.Item, it *wire.Item) int {
	return slices.IndexFunc(items, func(o wire.Item) bool {
		return o.What == wire.Result && it.What == wire.Result && o.ID != "" && o.ID == it.ID
	})
}
