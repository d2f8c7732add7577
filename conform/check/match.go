package check

import (
	"cmp"
	"slices"

	"github.com/meerkat-go/conformance/wires/wire"
)

// What evidence weighs. An id that one reply issued outweighs everything; then
// the content in its place, a token in its place, and a token anywhere. An id
// that several replies issued says little.
const (
	idWeight      = 16
	tokenWeight   = 7
	contentWeight = 8
	sharedWeight  = 4 // an id or token that several replies issued
	placeWeight   = 4 // the client said the same before both
	lineWeight    = 2 // a run beside it belongs to the same conversation
	namesWeight   = 2 // an id or token is the reply's, though a recorder may have put it there
	depthWeight   = 1 // both stand after as many runs
	wholeWeight   = 1 // the model said the same before both as well
)

// matcher finds for each item of one request the reply that emitted it.
type matcher struct {
	linking
	x     *exchange
	known *knownReplies
	// used are the replies that already have a run.
	used map[*exchange]bool
	// isKnown is set when the provider issued an id or token of the request in an
	// earlier exchange.
	isKnown bool
	// isResumed is set when the process of the request goes on with a session of an earlier one.
	isResumed bool
	// earlierOwned and laterOwned are set by findOwned.
	earlierOwned, laterOwned []int
}

func newMatcher(x *exchange, known *knownReplies, rules linking) *matcher {
	x.owners = make([][]*exchange, len(x.runs))
	for n, run := range x.runs {
		x.owners[n] = make([]*exchange, run.to-run.from)
	}
	m := &matcher{linking: rules, x: x, known: known, used: map[*exchange]bool{}}
	for n := range x.runs {
		m.isKnown = m.isKnown || slices.ContainsFunc(m.marksOfRun(n),
			func(mk mark) bool { return len(known.byMark[mk]) > 0 })
	}
	return m
}

// weakerSteps look for the reply of a whole run that neither ids nor tokens nor
// content in context gave away, the strongest evidence first.
var weakerSteps = []struct {
	rule linkRule
	find func(m *matcher, n int) *exchange
}{
	{contentBeside, (*matcher).neighbourWithContent},
	{contentAfterWord, (*matcher).contentAfterLastWord},
	{wholeIsSaid, (*matcher).wholeContent},
	{positionIsLast, (*matcher).expectedReply},
}

// matchRequest goes from the strongest evidence to the weakest; what one step
// finds is not taken back by the next.
func (m *matcher) matchRequest() {
	for n := range m.x.runs {
		if m.isNamed(n) {
			m.matchByEvidence(n)
		}
	}
	m.findOwned()
	for n := len(m.x.runs) - 1; n >= 0; n-- { // from the end, so that each reply leads to those before it
		if !m.isNamed(n) {
			m.matchByEvidence(n)
		}
	}
	for _, step := range weakerSteps {
		if !m.holds(step.rule) {
			continue
		}
		m.findOwned()
		for n := range m.x.runs {
			if m.mainOwner(n) == nil {
				m.take(n, step.find(m, n))
			}
		}
	}
	for n := range m.x.runs {
		if m.holds(answerIsContinued) {
			m.keepEarlierPart(n)
		}
		if m.holds(gapsAreFilled) {
			m.fillGaps(n)
		}
		owners := m.x.owners[n]
		for k, o := range owners {
			if o == unrecorded {
				owners[k] = nil
			}
		}
	}
}

// take gives the whole run n to a reply.
func (m *matcher) take(n int, from *exchange) {
	if from == nil {
		return
	}
	m.used[from] = true
	for k := range m.x.owners[n] {
		m.x.owners[n][k] = from
	}
}

// mainOwner returns the reply that the run's items were first given to.
func (m *matcher) mainOwner(n int) *exchange {
	if len(m.x.mainOwners) <= n {
		m.x.mainOwners = append(m.x.mainOwners, make([]*exchange, n+1-len(m.x.mainOwners))...)
	}
	if m.x.mainOwners[n] == nil {
		for _, o := range m.x.owners[n] {
			if o != nil {
				m.x.mainOwners[n] = o
				break
			}
		}
	}
	return m.x.mainOwners[n]
}

// claim says that item k of a run may come from a reply.
type claim struct {
	k, weight int
	from      *exchange
}

// matchByEvidence gives the items of run n to the replies that ids, tokens and
// content in the same context speak for, the best reply first. A run is usually
// one reply; several stand in one where a client joins turns or a paused
// turn went on.
func (m *matcher) matchByEvidence(n int) {
	claims := append(m.claimsByMark(n), m.claimsByContent(n)...)
	owners := m.x.owners[n]
	var main *exchange
	for {
		best := m.bestReply(n, claims, owners, main)
		if best == nil {
			break
		}
		foreign := main != nil && m.holds(copiesAreForeign) && !isAncestor(best, main) && !isAncestor(main, best)
		for _, c := range claims {
			if c.from == best && owners[c.k] == nil {
				owners[c.k] = best
				if foreign || main != nil && m.holds(copiesAreForeign) && m.standsElsewhere(n, c.k) {
					owners[c.k] = main // carries what another reply issued, and stands in main's place
				}
			}
		}
		if main == nil {
			main = best
			m.used[best] = true
		}
	}
	m.mainOwner(n)
	if main != nil {
		m.x.mainOwners[n] = main
	}
}

func (m *matcher) claimsByMark(n int) (claims []claim) {
	run := m.x.runs[n]
	for i := run.from; i < run.to; i++ {
		for _, mk := range marksOf(m.x.Provider, &m.x.req.Items[i]) {
			list, rule, weight := m.known.byMark[mk], idsName, idWeight
			if mk.kind == tokenMark {
				rule, weight = tokensName, tokenWeight
			}
			if !m.holds(rule) {
				continue
			}
			if len(list) > 1 && m.holds(sharedSaysLittle) {
				weight = sharedWeight
			}
			for _, s := range list {
				claims = append(claims, claim{i - run.from, weight, s.x})
			}
		}
	}
	return claims
}

// claimsByContent looks at the replies to all that the client had said before the
// run.
func (m *matcher) claimsByContent(n int) (claims []claim) {
	if !m.holds(contentInContext) {
		return nil
	}
	for _, s := range m.known.byWords[m.x.outline.words[n]] {
		for _, k := range m.equalItems(n, s.x) {
			claims = append(claims, claim{k, contentWeight, s.x})
		}
	}
	return claims
}

// equalItems lists the items of run n whose content the reply holds.
func (m *matcher) equalItems(n int, from *exchange) (equal []int) {
	run := m.x.runs[n]
	items := m.x.req.Items[run.from:run.to]
	for k := range items {
		if hasContent(&items[k]) && from.contents[m.x.outline.content[run.from+k]] {
			equal = append(equal, k)
		}
	}
	if len(equal) == 0 && m.holds(textsAreJoined) {
		if whole, first := allText(items); first >= 0 && from.contents[whole] {
			equal = append(equal, first)
		}
	}
	return equal
}

// bestReply returns the reply with the most evidence among the items still free, beside
// main, which has others; of equal ones the one that answers the most recent request.
func (m *matcher) bestReply(n int, claims []claim, owners []*exchange, main *exchange) *exchange {
	weights := map[*exchange]int{}
	for _, c := range claims {
		if owners[c.k] == nil {
			weights[c.from] += c.weight
		}
	}
	var best *exchange
	most := 0
	for from, w := range weights {
		if m.isOfOtherSession(n, from) {
			continue
		}
		w += m.placeWeight(n, from)
		if main != nil && m.holds(lineDecides) && (isAncestor(main, from) || isAncestor(from, main)) {
			w += lineWeight
		}
		if m.holds(namesDecide) && m.hasNamesOf(n, from) {
			w += namesWeight
		}
		if best == nil || w > most || w == most && (from.n > best.n) == m.holds(latestDecides) {
			best, most = from, w
		}
	}
	return best
}

// isOfOtherSession reports whether the run only looks like the reply: no id or token
// of the request was ever issued here, those of the run differ from the reply's, and
// another request goes on with the reply. Two sessions that begin with the same
// prompt look like that.
func (m *matcher) isOfOtherSession(n int, from *exchange) bool {
	if m.isKnown || !m.holds(sessionsDiffer) || !m.isContradicted(n, from) {
		return false
	}
	return slices.ContainsFunc(from.followers, func(f *exchange) bool {
		return isAncestor(from, f) && f.canBeSentBack() && !hasSameMarks(f, m.x, len(f.req.Items))
	})
}

func (m *matcher) marksOfRun(n int) (marks []mark) {
	for i := m.x.runs[n].from; i < m.x.runs[n].to; i++ {
		marks = append(marks, marksOf(m.x.Provider, &m.x.req.Items[i])...)
	}
	return marks
}

// placeWeight says how well the reply of from would stand in run n.
func (m *matcher) placeWeight(n int, from *exchange) (w int) {
	if !from.asksForAnswer() || !m.holds(placeDecides) {
		return 0
	}
	r := from.replyRun()
	if from.outline.words[r] == m.x.outline.words[n] {
		w += placeWeight
	}
	if from.outline.all[r] == m.x.outline.all[n] {
		w += wholeWeight
	}
	if r == n {
		w += depthWeight
	}
	if m.isInLine(n, from) {
		w += lineWeight
	}
	return w
}

// isInLine reports whether the reply of from goes on from that of the nearest known run
// before n, or that of the nearest known run behind n goes on from it. Two sessions may say
// the same, and only some of their runs have ids and tokens.
func (m *matcher) isInLine(n int, from *exchange) bool {
	if len(m.earlierOwned) == 0 || !m.holds(lineDecides) {
		return false
	}
	if k := m.earlierOwned[n]; k >= 0 && isAncestor(m.mainOwner(k), from) {
		return true
	}
	k := m.laterOwned[n]
	if n+1 < len(m.x.runs) && m.mainOwner(n+1) != nil {
		k = n + 1
	}
	return k >= 0 && isAncestor(from, m.mainOwner(k))
}

// hasNamesOf reports whether an item of run n has the id or token of one in the reply, also
// where a recorder put it in the place of a secret.
func (m *matcher) hasNamesOf(n int, from *exchange) bool {
	return slices.ContainsFunc(m.x.req.Items[m.x.runs[n].from:m.x.runs[n].to], func(sent wire.Item) bool {
		return slices.ContainsFunc(from.reply.Items, func(it wire.Item) bool {
			return sent.ID != "" && sent.ID == it.ID || sent.ItemID != "" && sent.ItemID == it.ItemID ||
				sent.Token != "" && sent.Token == it.Token
		})
	})
}

// isNamed reports whether run n holds an id or token that one reply alone issued, or that a
// recorder wrote.
func (m *matcher) isNamed(n int) bool {
	return slices.ContainsFunc(m.x.req.Items[m.x.runs[n].from:m.x.runs[n].to], func(it wire.Item) bool {
		marks := marksOf(m.x.Provider, &it)
		isMasked := len(marks) == 0 && it.ID+it.ItemID+it.Token != ""
		return isMasked || slices.ContainsFunc(marks, func(mk mark) bool { return len(m.known.byMark[mk]) == 1 })
	})
}

// standsElsewhere reports whether another run holds the token of item k of run n as
// well: then k carries a copy.
func (m *matcher) standsElsewhere(n, k int) bool {
	it := &m.x.req.Items[m.x.runs[n].from+k]
	if it.Token == "" || it.What == wire.Call && it.ID != "" {
		return false
	}
	for i := range m.x.req.Items {
		o := &m.x.req.Items[i]
		if o != it && o.Model() && o.Token == it.Token && (i < m.x.runs[n].from || i >= m.x.runs[n].to) {
			return true
		}
	}
	return false
}

// isAncestor reports whether a's reply is sent back in the request of b, or is added to it by the
// provider.
func isAncestor(a, b *exchange) bool {
	return b.base == a || slices.ContainsFunc(b.replays, func(l *link) bool { return l.from == a })
}

// keepEarlierPart gives the first items of run n back to what came before, where
// the owner's own request ended with them: the reply only continues them.
func (m *matcher) keepEarlierPart(n int) {
	main := m.x.mainOwners[n]
	if main == nil || main.replyRun() == len(main.runs) {
		return
	}
	earlier := main.runs[main.replyRun()]
	for k := 0; k < earlier.to-earlier.from && k < len(m.x.owners[n]); k++ {
		if m.x.outline.content[m.x.runs[n].from+k] != main.outline.content[earlier.from+k] {
			return
		}
		m.x.owners[n][k] = main.owners[main.replyRun()][k]
		if m.x.owners[n][k] == nil {
			m.x.owners[n][k] = unrecorded
		}
	}
}

// unrecorded stands for a reply that the evidence does not hold.
var unrecorded = &exchange{}

// fillGaps gives items of run n without an owner to the owner behind them if its reply alone
// says what they say, else to the owner before, else to the one behind.
func (m *matcher) fillGaps(n int) {
	owners, contents := m.x.owners[n], m.x.outline.content[m.x.runs[n].from:]
	before := slices.Clone(owners)
	for k := 1; k < len(owners); k++ {
		before[k] = cmp.Or(owners[k], before[k-1])
	}
	for k := len(owners) - 2; k >= 0; k-- {
		if behind := owners[k+1]; owners[k] == nil && behind != nil && behind.contents[contents[k]] &&
			(before[k] == nil || !before[k].contents[contents[k]]) {
			owners[k] = behind
		}
	}
	for k := 1; k < len(owners); k++ {
		owners[k] = cmp.Or(owners[k], owners[k-1].nextWith(contents[k]), owners[k-1])
	}
	for k := len(owners) - 2; k >= 0; k-- {
		owners[k] = cmp.Or(owners[k], owners[k+1])
	}
}

// nextWith returns the reply behind that of x which holds a content that the reply of x does not hold: where words of the
// client between two replies are lost, both stand in one run.
func (x *exchange) nextWith(content uint64) *exchange {
	if x == nil || x.contents[content] {
		return nil
	}
	if i := slices.IndexFunc(x.followers, func(f *exchange) bool { return f.contents[content] }); i >= 0 {
		return x.followers[i]
	}
	return nil
}
