package mutant

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// budgetMutants go on where the budget ends.
var budgetMutants = []Mutant{
	{"exceed-turns", "asks for one reply more than it may", []string{"BUD-001"}, exceedTurns},
	{"repeat-short", "asks with the same limit again after a reply that ended at it", []string{"BUD-002"}, repeatShort},
}

// exceedTurns is a limit that is one lower than what was asked for.
func exceedTurns(ev evidence.Evidence) (evidence.Evidence, bool) {
	if ev.Limits.Turns < 2 {
		return ev, false
	}
	ev = cloneEvidence(ev)
	ev.Limits.Turns--
	return ev, true
}

// repeatShort sends the request of a short reply again in place of the next one. It says that
// it tries again: without a known process an equal request may be another caller's.
func repeatShort(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	i := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool {
		r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
		return slices.Contains([]string{"max_tokens", "MAX_TOKENS", "incomplete"}, r.Stop)
	})
	if i < 0 || i+1 >= len(ev.Exchanges) || ev.Exchanges[i].Process != ev.Exchanges[i+1].Process {
		return ev, false
	}
	again := ev.Exchanges[i].Request
	again.Header = again.Header.Clone()
	again.Header.Set("X-Stainless-Retry-Count", "1")
	ev.Exchanges[i+1].Request, ev.Exchanges[i+1].Response = again, ev.Exchanges[i].Response
	return ev, true
}
