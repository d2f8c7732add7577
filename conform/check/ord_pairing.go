package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/openai"
	"github.com/meerkat-go/conformance/wires/wire"
)

// pairingRules judge calls that the provider keeps and their results.
var pairingRules = map[string]rule{
	"ORD-001/answered": func(s *Trace, r *report) { s.eachRequest(func(x *exchange) { s.judgeKept(x, r) }) },
}

// isOutput reports whether an item of OpenAI's answers a call.
func isOutput(it *wire.Item) bool {
	return it.What == wire.Result || strings.HasSuffix(it.Type, "_output") && it.ID != ""
}

// keptTurns lists the recorded exchanges whose requests and replies the provider puts before
// the input of x, the latest first. isWhole is false where more than these may stand there.
func (s *Trace) keptTurns(x *exchange) (kept []*exchange, isWhole bool) {
	for now := x; now.req.Stateful; {
		from := now.base
		if id := storedConversation(now); id != "" && now.previous != nil && storedConversation(now.previous) == id {
			from = now.previous
		}
		switch {
		case from == nil || !from.asksForAnswer() && !from.isWarmUp() || !from.reply.Usable() ||
			len(kept) == maxSources:
			return kept, false
		case from.req.Doc.False("store") && (x.WebSocket == 0 || x.WebSocket != from.WebSocket):
			return kept, false // the provider does not know it
		case slices.ContainsFunc(from.req.Items, isOpaqueHistory) ||
			slices.ContainsFunc(from.reply.Items, isOpaqueHistory):
			return kept, false
		case slices.ContainsFunc(s.x[from.n:now.n],
			func(o *exchange) bool { return strings.Contains(o.Request.URL, "/conversations/") }):
			return kept, false // items may have been added or deleted
		}
		kept, now = append(kept, from), from
	}
	return kept, true
}

// isOpaqueHistory reports whether an item stands for others that it does not show.
func isOpaqueHistory(it wire.Item) bool { return it.Type == referenceType || isCompaction(&it) }

func (s *Trace) judgeKept(x *exchange, r *report) {
	describe := func(it *wire.Item) string {
		if it.What == wire.Call {
			return "tool call " + it.Label()
		}
		return it.Type + " " + it.ID
	}
	later := map[string]int{}
	for i := range x.req.Items {
		if it := &x.req.Items[i]; isOutput(it) {
			later[it.ID] = i + 1
		}
	}
	if x.isWarmUp() || slices.ContainsFunc(x.req.Items, isOpaqueHistory) {
		return // the output may be among what is named
	}
	_, at := x.member("previous_response_id")
	if storedConversation(x) != "" {
		_, at = x.member("conversation")
	}
	kept, _ := s.keptTurns(x)
	for _, from := range kept {
		for it := range wire.Each(from.reply.Items) {
			if isOutput(it) {
				later[it.ID] = 1
			}
		}
		for it := range wire.Each(from.reply.Items) {
			if !openai.WaitsForClient(it.Type, it.Begun()) {
				continue
			}
			r.addObserved(1)
			if later[it.ID] == 0 {
				r.addFinding(x, at, "O-10",
					"%s is open in the conversation that the provider keeps, and the request has no output for it (%s)",
					describe(it), emittedAt(from, it.Place)).Emitted = emissionAt(from, it.Place)
			}
		}
		for it := range wire.Each(from.req.Items) {
			if isOutput(it) {
				later[it.ID] = 1
			}
		}
	}
}

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
