package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/wire"
)

// alignItems pairs the items of the reply with those sent back for it: first by
// what proves identity, then by equal content, then by token, then by kind and
// order, so that an altered item is compared with what it was and not reported as
// lost.
func (l *link) alignItems(rules linking) {
	if l.pairUnchanged() {
		return
	}
	a := aligner{linking: rules, link: l, taken: make([]bool, len(l.from.reply.Items))}
	rest := l.items
	for _, by := range []pairing{
		{pairByID, idKeys, anyCall, true},
		{pairByContent, contentKeys, oneWithoutID, true},
		{pairByToken, a.tokenKeys, sameNameOrArgs, true},
		{pairByKind, kindKeys, anyCall, false},
	} {
		if rules.holds(by.rule) {
			rest = a.matchItems(rest, by)
		}
	}
	l.extra = rest
	slices.SortFunc(l.pairs, func(x, y pair) int { return x.q - y.q })
	for r, t := range a.taken {
		if !t && l.reply(r).Model() {
			l.missing = append(l.missing, r)
		}
	}
}

// pairUnchanged pairs the items in order if none has changed, which is what most
// requests show.
func (l *link) pairUnchanged() bool {
	n := 0
	for r := range l.from.reply.Items {
		if !l.reply(r).Model() {
			continue
		}
		if n == len(l.items) || !isUnchanged(l.reply(r), l.sent(l.items[n])) {
			l.pairs = nil
			return false
		}
		l.pairs = append(l.pairs, pair{r, l.items[n], true})
		n++
	}
	if n < len(l.items) {
		l.pairs = nil
		return false
	}
	return true
}

// isUnchanged reports whether q is r in all that items are recognised by.
func isUnchanged(r, q *wire.Item) bool {
	return r.What == q.What && r.What != wire.Opaque && r.What != wire.Media && r.Name == q.Name && r.ID == q.ID &&
		r.ItemID == q.ItemID &&
		r.Text == q.Text && r.Args == q.Args && r.Token == q.Token && r.HasToken == q.HasToken
}

type aligner struct {
	linking
	*link
	taken []bool
}

// pairing is one way to pair items: by keys in common, where allows has the last word
// on calls.
type pairing struct {
	rule    linkRule
	keys    func(it *wire.Item) []itemKey
	allows  func(r, q *wire.Item) bool
	isExact bool
}

// itemKey is something that two items can have in common.
type itemKey struct {
	what    wire.What
	value   string
	content uint64
}

// matchItems pairs each of qs with the first free reply item that has a key in
// common with it, and returns those without one. A q that names an item already taken, without differing from it, repeats
// it.
func (a *aligner) matchItems(qs []int, by pairing) (rest []int) {
	if len(qs) == 0 {
		return nil
	}
	byKey := map[itemKey][]int{}
	for r := range a.taken {
		if !a.reply(r).Model() {
			continue
		}
		for _, k := range by.keys(a.reply(r)) {
			byKey[k] = append(byKey[k], r)
		}
	}
	for _, q := range qs {
		free, taken := a.findItem(byKey, by.keys(a.sent(q)), func(r *wire.Item) bool {
			return r.What != wire.Call || a.sent(q).What != wire.Call || by.allows(r, a.sent(q)) ||
				!a.holds(callsDiffer)
		})
		switch {
		case free >= 0:
			a.taken[free] = true
			a.pairs = append(a.pairs, pair{free, q, by.isExact})
		case taken >= 0 && by.isExact && a.holds(secondIsRepeat) && a.isRepeated(taken, q):
			a.again = append(a.again, q)
		default:
			rest = append(rest, q)
		}
	}
	return rest
}

// findItem returns the first free item with one of the keys, and one that is
// taken; -1 for none.
func (a *aligner) findItem(byKey map[itemKey][]int, keys []itemKey, allows func(r *wire.Item) bool) (free, taken int) {
	free, taken = -1, -1
	for _, k := range keys {
		for len(byKey[k]) > 1 && a.taken[byKey[k][0]] {
			byKey[k] = byKey[k][1:]
		}
		for _, r := range byKey[k] {
			if !allows(a.reply(r)) {
				continue
			}
			if !a.taken[r] {
				return r, taken
			}
			taken = r
			break
		}
	}
	return free, taken
}

func anyCall(_, _ *wire.Item) bool { return true }

// oneWithoutID lets a call be found by its content where the provider or the client
// gave it no id: with two ids, equal calls are told apart by them.
func oneWithoutID(r, q *wire.Item) bool { return r.ID == "" || q.ID == "" }

// sameNameOrArgs keeps calls apart that share a token alone: a client that copies a
// token to every call does not make them one.
func sameNameOrArgs(r, q *wire.Item) bool {
	return r.Name == q.Name || plainArgs(r.Args) == plainArgs(q.Args)
}

// isRepeated reports whether q is item r over again and not one like it.
func (a *aligner) isRepeated(r, q int) bool {
	was, is := a.reply(r), a.sent(q)
	if haveCommon(idKeys(was), idKeys(is)) {
		return true
	}
	if is.What == wire.Text { // in a message of its own
		sent := a.sentFor(r)
		return sent != nil && sent.Msg != is.Msg && was.Text == is.Text
	}
	return haveCommon(contentKeys(was), contentKeys(is)) &&
		(haveCommon(a.tokenKeys(was), a.tokenKeys(is)) || a.isTakenByID(is))
}

// isTakenByID reports whether another item was sent back under the same id, which
// the client gave it.
func (a *aligner) isTakenByID(q *wire.Item) bool {
	return q.ID != "" && slices.ContainsFunc(a.pairs, func(p pair) bool { return a.sent(p.q).ID == q.ID })
}

func haveCommon(a, b []itemKey) bool {
	return slices.ContainsFunc(a, func(k itemKey) bool { return slices.Contains(b, k) })
}

// idKeys are the ids of an item. A reference to a stored item is that item,
// whatever its kind.
func idKeys(it *wire.Item) (keys []itemKey) {
	if it.ItemID != "" {
		keys = append(keys, itemKey{value: "item " + it.ItemID})
	}
	if it.ID != "" {
		keys = append(keys, itemKey{it.What, it.ID, 0})
		if it.What == wire.Call { // some clients use the item's id as the call id
			keys = append(keys, itemKey{value: "item " + it.ID})
		}
	}
	if answered := it.Begun().Text("tool_use_id"); answered != "" && it.What == wire.Opaque {
		keys = append(keys, itemKey{it.What, "result of " + answered, 0}) // of a tool of the provider
	}
	return keys
}

// contentKeys is what an item says.
func contentKeys(it *wire.Item) []itemKey {
	switch {
	case it.Type == referenceType:
		return nil
	case it.What == wire.Thinking || it.What == wire.Text:
		if it.Text == "" {
			return []itemKey{{it.What, "empty " + it.Token, 1}}
		}
	case it.Node == nil && it.What != wire.Call:
		return nil
	}
	return []itemKey{{it.What, "", contentOf(it)}}
}

func (a *aligner) tokenKeys(it *wire.Item) (keys []itemKey) {
	for _, t := range tokensOf(it) {
		if t != "" {
			keys = append(keys, itemKey{it.What, "token " + wire.TokenKey(a.to.Provider, t), 0})
		}
	}
	return keys
}

func kindKeys(it *wire.Item) []itemKey {
	return []itemKey{{it.What, "kind " + it.Type + " " + it.Name, 0}}
}
