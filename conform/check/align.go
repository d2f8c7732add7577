package check

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/wire"
)

// alignItems pairs the items of the reply with those sent back for it: first by what
// proves identity, then by equal content, then by kind and order, so that an
// altered item is compared with what it was and not reported as lost.
func (l *link) alignItems() {
	a := aligner{link: l, taken: make([]bool, len(l.from.reply.Items))}
	rest := a.matchItems(l.items, a.byID, true)
	rest = a.matchItems(rest, a.byContent, true)
	rest = a.matchItems(rest, a.byToken, true)
	rest = a.matchItems(rest, a.byKind, false)
	l.extra = rest
	slices.SortFunc(l.pairs, func(x, y pair) int { return x.q - y.q })
	for r, t := range a.taken {
		if !t && l.reply(r).Model() {
			l.missing = append(l.missing, r)
		}
	}
}

type aligner struct {
	*link
	taken []bool
}

// matchItems pairs each of qs with the first free reply item that match accepts, and
// returns those without one. A q that names an item already taken by its id or
// token, without differing from it, repeats it.
func (a *aligner) matchItems(qs []int, match func(r, q *wire.Item) bool, exact bool) (rest []int) {
	for _, q := range qs {
		free, taken := -1, -1
		for r := range a.taken {
			if !a.reply(r).Model() || !match(a.reply(r), a.sent(q)) {
				continue
			}
			if !a.taken[r] {
				free = r
				break
			}
			taken = r
		}
		switch {
		case free >= 0:
			a.taken[free] = true
			a.pairs = append(a.pairs, pair{free, q, exact})
		case taken >= 0 && exact && a.isRepeated(taken, q):
			a.again = append(a.again, q)
		default:
			rest = append(rest, q)
		}
	}
	return rest
}

// isRepeated reports whether q is item r over again and not one like it.
func (a *aligner) isRepeated(r, q int) bool {
	was, is := a.reply(r), a.sent(q)
	return a.byID(was, is) || a.byContent(was, is) && a.byToken(was, is)
}

func (a *aligner) byID(r, q *wire.Item) bool {
	return r.What == q.What && (r.ID != "" && r.ID == q.ID ||
		r.ItemID != "" && (r.ItemID == q.ItemID || r.ItemID == q.ID))
}

// byToken leaves calls apart that have neither name nor arguments in common: a
// client that copies a token to every call does not make them one.
func (a *aligner) byToken(r, q *wire.Item) bool {
	if r.What != q.What || q.Token == "" || r.Name != q.Name && plainArgs(r.Args) != plainArgs(q.Args) {
		return false
	}
	key := wire.TokenKey(a.to.Provider, q.Token)
	for _, t := range append(append([]string{r.Token}, r.AlsoTokens...), r.DraftTokens...) {
		if t != "" && wire.TokenKey(a.to.Provider, t) == key {
			return true
		}
	}
	return false
}

func (a *aligner) byContent(r, q *wire.Item) bool {
	switch {
	case r.What != q.What:
		return false
	case r.What == wire.Call:
		return (r.ID == "" || q.ID == "") && r.Name == q.Name && (r.Args == q.Args || plainArgs(r.Args) == plainArgs(q.Args))
	case r.What == wire.Thinking || r.What == wire.Text:
		return r.Text == q.Text && (r.Text != "" || r.HasToken == q.HasToken && r.Token == q.Token)
	}
	return r.Node != nil && wire.Equal(r.Node, q.Node, "cache_control")
}

func (a *aligner) byKind(r, q *wire.Item) bool {
	return r.What == q.What && r.Type == q.Type && r.Name == q.Name
}
