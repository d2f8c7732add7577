package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires"
)

// ownTurn: what is sent back stands with the rest of its reply. A hidden item
// moved among those of another reply can keep the order within its own, and the
// history that RES-003 compares does not hold it; the provider refuses it there
// all the same.
func ownTurn(s *Trace, r *report) {
	for _, x := range s.x {
		replies := make([]int, len(x.runs)) // how many stand in each run
		for _, l := range x.replays {
			for _, n := range l.runsOfReply() {
				replies[n]++
			}
		}
		for _, l := range x.replays {
			l.judgePlace(r, replies)
		}
	}
}

func (l *link) judgePlace(r *report, replies []int) {
	apart := len(l.runsOfReply()) > 1
	for _, p := range l.pairs {
		if it := l.reply(p.r); it.Token == "" || !p.exact {
			continue
		}
		if len(l.to.replays) > 1 {
			r.addObserved(1)
		}
		if apart && replies[l.to.runOf(p.q)] > 1 {
			r.addChange(l, l.sent(p.q).Place, l.reply(p.r).Place, l.to.wire.RuleFor(wires.MovedToken),
				"%s stands among what another reply emitted, apart from the rest of its own", l.reply(p.r).What)
		}
	}
}

// runsOfReply lists the ordinals of the runs that hold an item surely of the reply.
func (l *link) runsOfReply() (runs []int) {
	for _, p := range l.pairs {
		if it := l.reply(p.r); p.exact && (it.Token != "" || it.ID != "" || it.ItemID != "") {
			runs = append(runs, l.to.runOf(p.q))
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}
