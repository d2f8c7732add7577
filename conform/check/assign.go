package check

import (
	"cmp"
	"slices"

	"github.com/meerkat-go/conformance/conform/wire"
)

// votes counts what speaks for one reply as the source of a run.
type votes struct {
	x            *exchange
	strong, weak int
	context      bool // both follow the same thing said by the client
	depth        bool // both follow as many turns of the model
}

func (v votes) weight() int {
	w := 16*v.strong + 4*v.weak
	if v.context {
		w += 2
	}
	if v.depth {
		w++
	}
	return w
}

// claimant finds the reply that each item of one run comes from. A run is
// usually one reply; several are possible where a client joins turns or
// a paused turn went on.
type claimant struct {
	x     *exchange
	n     int // ordinal of the run
	index map[anchor][]source
}

// owners returns the reply of each item of the run, nil for none. Replies are
// taken by weight, the later one first among equals, each with the items that
// vote for it; an item no reply claims goes to the reply claimed just before
// it, else just after.
func (c claimant) owners() []*exchange {
	run := c.x.runs[c.n]
	n := run.to - run.from
	claims := make([][]source, n) // what each item could stem from
	strong := make([][]bool, n)
	for k := range n {
		for _, a := range anchors(c.x.Provider, &c.x.req.Items[run.from+k]) {
			for _, s := range c.index[a] {
				claims[k] = append(claims[k], s)
				strong[k] = append(strong[k], a.strong())
			}
		}
	}
	if a, first := allText(c.x.req.Items[run.from:run.to]); first >= 0 {
		for _, s := range c.index[a] {
			claims[first] = append(claims[first], s)
			strong[first] = append(strong[first], false)
		}
	}
	owners := make([]*exchange, n)
	for best := c.elect(claims, strong, owners); best != nil; best = c.elect(claims, strong, owners) {
		for k := range n {
			if owners[k] == nil && claimedBy(claims[k], best) {
				owners[k] = best
			}
		}
	}
	spread(owners)
	return owners
}

func claimedBy(claims []source, x *exchange) bool {
	return slices.ContainsFunc(claims, func(s source) bool { return s.x == x })
}

// elect returns the reply with the most weight among the items still free. A
// reply known only by its texts counts only after the same words of the client.
func (c claimant) elect(claims [][]source, strong [][]bool, owners []*exchange) *exchange {
	tally := map[*exchange]*votes{}
	for k := range claims {
		if owners[k] != nil {
			continue
		}
		for i, s := range claims[k] {
			v := tally[s.x]
			if v == nil {
				v = c.candidate(s.x)
				tally[s.x] = v
			}
			if strong[k][i] {
				v.strong++
			} else {
				v.weak++
			}
		}
	}
	var best *votes
	for _, v := range tally {
		if v.strong == 0 && !v.context {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(v.weight(), best.weight()), cmp.Compare(v.x.Index, best.x.Index)) > 0 {
			best = v
		}
	}
	if best == nil {
		return nil
	}
	return best.x
}

func (c claimant) candidate(from *exchange) *votes {
	return &votes{x: from, context: sameContext(c.x, c.x.runs[c.n], from), depth: len(from.runs) == c.n}
}

// sameContext reports whether the item before the run is the last one of from's
// request, both by what they say.
func sameContext(x *exchange, run span, from *exchange) bool {
	if run.from == 0 || len(from.req.Items) == 0 {
		return run.from == 0 && len(from.req.Items) == 0
	}
	a, b := &x.req.Items[run.from-1], &from.req.Items[len(from.req.Items)-1]
	return !b.Model() && sameSaying(a, b)
}

// sameSaying compares two items of the client by content.
func sameSaying(a, b *wire.Item) bool {
	if a.What != b.What || a.Role != b.Role || a.ID != b.ID {
		return false
	}
	if a.What == wire.Text {
		return a.Text == b.Text
	}
	return wire.Equal(a.Node, b.Node, "cache_control")
}

// spread gives items without an owner to the owner before, else after them.
func spread(owners []*exchange) {
	for k := 1; k < len(owners); k++ {
		if owners[k] == nil {
			owners[k] = owners[k-1]
		}
	}
	for k := len(owners) - 2; k >= 0; k-- {
		if owners[k] == nil {
			owners[k] = owners[k+1]
		}
	}
}
