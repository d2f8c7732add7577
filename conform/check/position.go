package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/wire"
)

// Positions: a run that no id, token or content links may still stand where only
// one reply can stand.

// neighbourWithContent returns the reply that stands at this place in the
// conversation of a neighbouring run, if some item has its content, whatever the
// client is said to have asked.
func (m *matcher) neighbourWithContent(n int) *exchange {
	hasContent := func(f *exchange) bool { return len(m.equalItems(n, f)) > 0 }
	if later, k := m.placeInLater(n); later != nil {
		if from := m.free(lastOwner(later.owners[k])); from != nil && hasContent(from) {
			return from
		}
		return nil
	}
	return m.nextOfEarlier(n, hasContent)
}

// neighbourReply returns the reply that the runs after or before n say stands
// there, after the same words of the client. It is decided also where the history of
// a later reply holds at this place what nobody recorded.
func (m *matcher) neighbourReply(n int) (from *exchange, isDecided bool) {
	if later, k := m.placeInLater(n); later != nil {
		if m.sameLastWord(n, later, k) {
			return m.free(lastOwner(later.owners[k])), true
		}
		return nil, false
	}
	from = m.nextOfEarlier(n, func(f *exchange) bool { return m.sameLastWord(n, f, f.replyRun()) })
	return from, from != nil
}

// placeInLater returns the next reply after run n, and which run of its own request
// stands at the place of n.
func (m *matcher) placeInLater(n int) (later *exchange, run int) {
	i := m.laterOwned[n]
	if i < 0 {
		return nil, 0
	}
	next := m.mainOwner(i)
	if k := next.replyRun() - (i - n); next.asksForAnswer() && k >= 0 && k < len(next.runs) {
		return next, k
	}
	return nil, 0
}

// findOwned notes for each run the nearest one before and after it whose reply is
// known, -1 for none.
func (m *matcher) findOwned() {
	m.earlierOwned, m.laterOwned = make([]int, len(m.x.runs)), make([]int, len(m.x.runs))
	last := -1
	for n := range m.x.runs {
		m.earlierOwned[n] = last
		if m.mainOwner(n) != nil {
			last = n
		}
	}
	last = -1
	for n := len(m.x.runs) - 1; n >= 0; n-- {
		m.laterOwned[n] = last
		if m.mainOwner(n) != nil {
			last = n
		}
	}
}

// nextOfEarlier returns the latest reply to a request that went on from the reply in
// the run before n, among those that accepts takes.
func (m *matcher) nextOfEarlier(n int, accepts func(f *exchange) bool) *exchange {
	if n == 0 || m.mainOwner(n-1) == nil {
		return nil
	}
	followers := lastOwner(m.x.owners[n-1]).followers
	for i := len(followers) - 1; i >= 0 && i >= len(followers)-maxSources; i-- {
		if f := followers[i]; f.canBeSentBack() && m.free(f) != nil && accepts(f) {
			return f
		}
	}
	return nil
}

func lastOwner(owners []*exchange) *exchange {
	for k := len(owners) - 1; k >= 0; k-- {
		if owners[k] != nil {
			return owners[k]
		}
	}
	return nil
}

func (m *matcher) sameLastWord(n int, from *exchange, k int) bool {
	return m.x.outline.lastWord[n] == from.outline.lastWord[k]
}

// free returns from unless a run of the request already has it.
func (m *matcher) free(from *exchange) *exchange {
	if from == nil || m.used[from] && m.holds(repliesStandOnce) {
		return nil
	}
	return from
}

// canBeSentBack reports whether the reply is whole and holds something.
func (x *exchange) canBeSentBack() bool {
	return x.asksForAnswer() && x.reply.Usable() && len(x.reply.Items) > 0
}

// contentAfterLastWord returns the latest reply with the run's content that
// followed the same last word of the client. Short texts repeat in a
// conversation, so it must fit between the neighbours, and no id or token may
// contradict it.
func (m *matcher) contentAfterLastWord(n int) *exchange {
	if _, isDecided := m.neighbourReply(n); isDecided {
		return nil
	}
	run := m.x.runs[n]
	low, high := m.bounds(n)
	var best *exchange
	try := func(content uint64) {
		for _, s := range m.known.byContent[content] {
			f := s.x
			if f.asksForAnswer() && m.free(f) != nil && f.n > low && f.n < high && (best == nil || f.n > best.n) &&
				m.sameLastWord(n, f, f.replyRun()) && !m.isContradicted(n, f) {
				best = f
			}
		}
	}
	for i := run.from; i < run.to; i++ {
		if hasContent(&m.x.req.Items[i]) {
			try(m.x.outline.content[i])
		}
	}
	if whole, first := allText(m.x.req.Items[run.from:run.to]); first >= 0 && m.holds(textsAreJoined) {
		try(whole)
	}
	return best
}

// wholeContent returns the reply that says all that the run says and nothing else,
// whatever the client is said to have asked: a long reply is not given twice, nor a short
// one with the same id, and a resumed process repeats those of earlier ones. Nothing else goes
// on with it but on the side. It stands after as many runs, or the client left out what was said
// between it and the reply that is expected here.
func (m *matcher) wholeContent(n int) *exchange {
	expected, isDecided := m.neighbourReply(n)
	if isDecided && expected == nil {
		return nil
	}
	isOwnName := m.isNamedByClient(n)
	fits := func(f *exchange) bool {
		if isDecided {
			return isAncestor(expected, f) && (isOwnName || !m.isContradicted(n, f))
		}
		return f.replyRun() == n && !m.isContradicted(n, f)
	}
	run := m.x.runs[n]
	for i := run.from; i < run.to; i++ {
		it := &m.x.req.Items[i]
		if !hasContent(it) {
			continue
		}
		list := m.known.byContent[m.x.outline.content[i]]
		for k := len(list) - 1; k >= 0; k-- {
			f := list[k].x
			isTelling := len(it.Text)+len(it.Args) >= longText || holdsID(f, it.ID) ||
				m.isResumed && f.Process < m.x.Process
			if f.canBeSentBack() && m.free(f) != nil && fits(f) && !f.isContinuedInMain() && isTelling &&
				m.saysTheSame(n, f) {
				return f
			}
		}
	}
	return nil
}

// isNamedByClient reports whether no id or token of run n was ever issued: clients give
// messages ids of their own.
func (m *matcher) isNamedByClient(n int) bool {
	return !slices.ContainsFunc(m.marksOfRun(n), func(mk mark) bool { return len(m.known.byMark[mk]) > 0 })
}

// holdsID reports whether the reply issued the id, as far as a recorder that wrote
// something else in its place lets us know.
func holdsID(from *exchange, id string) bool {
	return id != "" && slices.ContainsFunc(from.reply.Items, func(it wire.Item) bool { return it.ID == id })
}

// saysTheSame reports whether run n holds the contents of the reply and no others.
func (m *matcher) saysTheSame(n int, from *exchange) bool {
	held := map[uint64]bool{}
	for i := m.x.runs[n].from; i < m.x.runs[n].to; i++ {
		if hasContent(&m.x.req.Items[i]) && !m.x.req.Items[i].Continuity() {
			held[m.x.outline.content[i]] = true
		}
	}
	for it := range wire.Each(from.reply.Items) {
		if it.Model() && hasContent(it) && !it.Continuity() {
			c := contentOf(it)
			if !held[c] {
				return false
			}
			delete(held, c)
		}
	}
	return len(held) == 0
}

// bounds returns the ordinals of the exchanges between which the reply of run n
// must have come: those of the runs before and after.
func (m *matcher) bounds(n int) (low, high int) {
	low, high = -1, m.x.n
	if !m.holds(boundsHold) {
		return low, high
	}
	if k := m.earlierOwned[n]; k >= 0 {
		low = m.mainOwner(k).n
	}
	if k := m.laterOwned[n]; k >= 0 {
		high = m.mainOwner(k).n
	}
	return low, high
}

// isContradicted reports whether the provider marked both the run and the reply
// with ids, or both with tokens. They differ, because equal ones were found
// before.
func (m *matcher) isContradicted(n int, from *exchange) bool {
	if !m.holds(marksContradict) {
		return false
	}
	var kinds [2][2]bool
	for _, mk := range m.marksOfRun(n) {
		kinds[0][mk.kind] = true
	}
	for it := range wire.Each(from.reply.Items) {
		if it.Model() {
			for _, mk := range marksOf(m.x.Provider, it) {
				kinds[1][mk.kind] = true
			}
		}
	}
	return kinds[0][idMark] && kinds[1][idMark] || kinds[0][tokenMark] && kinds[1][tokenMark]
}

// expectedReply returns the reply that must stand in run n, whatever the run
// holds: the neighbours say so, or it answered exactly the words before it. In
// an opening that no other run identifies, ids and tokens that differ are those
// of another conversation. Words of the model at the end of a request are the
// client's own beginning of the answer.
func (m *matcher) expectedReply(n int) *exchange {
	if m.x.runs[n].to == len(m.x.req.Items) && m.holds(openingIsRead) {
		return nil
	}
	if from := m.summaryOf(n); from != nil && m.holds(summaryStartsOver) {
		if m.saysTheSame(n, from) {
			return from
		}
		return nil // words of the client stand around it
	}
	if from, isDecided := m.neighbourReply(n); isDecided {
		return from
	}
	list := m.known.byWords[m.x.outline.words[n]]
	var best *exchange
	for _, s := range list {
		if f := s.x; f.canBeSentBack() && m.free(f) != nil &&
			(best == nil || m.placeWeight(n, f) >= m.placeWeight(n, best)) {
			best = f
		}
	}
	if best == nil || len(m.used) == 0 && m.isContradicted(n, best) {
		return nil
	}
	if !sameSystem(best.req.System, m.x.req.System) && len(m.equalItems(n, best)) == 0 {
		// A request beside the conversation may begin like another one; it quotes a reply of the conversation.
		for _, s := range slices.Backward(m.known.byContent[m.x.outline.content[m.x.runs[n].from]]) {
			if s.x.canBeSentBack() && m.free(s.x) != nil && m.saysTheSame(n, s.x) {
				return s.x
			}
		}
	}
	return best
}

// summaryOf returns the recent reply to a request for a summary that run n quotes whole and
// alone, nil for none: it stands where others stood.
func (m *matcher) summaryOf(n int) *exchange {
	run := m.x.runs[n]
	first := &m.x.req.Items[run.from]
	if first.What != wire.Text || run.to-run.from > 1 {
		return nil
	}
	for _, s := range slices.Backward(m.known.summaries) {
		if quotesReply(first.Text, s.x) {
			return s.x
		}
	}
	return nil
}

// findPrevious returns the exchange that the request continues: the one that the
// provider keeps, or whose whole request it repeats and goes on from with words of the
// client alone, else the one whose reply stands last in it.
func (m *matcher) findPrevious() *exchange {
	x := m.x
	if from := m.known.byID[x.req.Doc.Text("previous_response_id")]; from != nil && from.asksForAnswer() &&
		m.holds(responseIsNamed) {
		return from
	}
	if from := m.known.byStore[storedConversation(x)]; from != nil && storedConversation(x) != "" &&
		m.holds(storeIsNamed) {
		return from
	}
	end := 0
	if len(x.runs) > 0 {
		end = x.runs[len(x.runs)-1].to
	}
	if !m.holds(requestIsGrown) {
		end = len(x.req.Items)
	}
	last := x.lastReply()
	for i := len(x.req.Items); i > end; i-- {
		list := m.known.byWhole[x.outline.wholeAt[i]]
		for k := len(list) - 1; k >= 0; k-- {
			if from := list[k].x; !m.holds(grownHasItsMarks) || hasSameMarks(from, x, len(from.req.Items)) &&
				(last == nil || isAncestor(last, from)) {
				return from
			}
		}
	}
	return last
}

// hasSameMarks reports whether the first n items of both requests carry the same
// ids and tokens: another session may have said the same.
func hasSameMarks(a, b *exchange, n int) bool {
	for i := 0; i < n && i < len(b.req.Items); i++ {
		if !slices.Equal(marksOf(a.Provider, &a.req.Items[i]), marksOf(b.Provider, &b.req.Items[i])) {
			return false
		}
	}
	return true
}
