package check

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// budgetRules judge that an agent stops where its budget ends.
var budgetRules = map[string]rule{
	"BUD-001/turns":      turnsWithinLimit,
	"BUD-002/same-bytes": shortReplyAskedAgain,
}

// turnsWithinLimit: a process that may call the model n times does not go on after the
// nth reply. Retries, sub-agents and requests beside the conversation do not count.
func turnsWithinLimit(s *Trace, r *report) {
	limit := s.ev.Limits.Turns
	if limit == 0 {
		return
	}
	replies, reported := map[int]int{}, map[int]bool{}
	for _, x := range s.x {
		if x.kind != Main && x.kind != Fork && x.kind != Compacted && x.kind != Retry || x.isAgentTask() {
			continue
		}
		r.addObserved(1)
		if replies[x.Process] >= limit && !reported[x.Process] {
			reported[x.Process] = true
			r.addFinding(x, wire.At(nil, ""), "", "the process may call the model %d times, and asks again after %d replies", limit, replies[x.Process])
		}
		if x.canBeSentBack() {
			replies[x.Process]++
		}
	}
}

// isAgentTask reports whether x belongs to the conversation of a sub-agent.
func (x *exchange) isAgentTask() bool {
	for x.previous != nil && x.previous.n < x.n && x.kind != SubAgent {
		x = x.previous
	}
	return x.kind == SubAgent
}

// shortReplyAskedAgain: a reply that its budget of tokens cut off is not asked for again
// with the same request, because it ends at the same place. What counts is the next
// request of the process: the reaction to that reply.
func shortReplyAskedAgain(s *Trace, r *report) {
	isShort := func(x *exchange) bool { return x.reply.Usable() && x.isCutByBudget() }
	s.eachReaction(isShort, func(x, later *exchange, isRepeated bool) {
		r.addObserved(1)
		if isRepeated {
			r.addFinding(later, wire.At(nil, ""), "", "the request is, byte for byte, the one of exchange %d, whose reply ended at its limit of tokens", x.Index)
		}
	})
}

// eachReaction calls f for every exchange that ended in a way and the next request of its
// process, and says whether that is the same again.
func (s *Trace) eachReaction(ended func(x *exchange) bool, f func(x, later *exchange, isRepeated bool)) {
	times := map[*exchange]int{}
	for _, x := range s.x {
		if !x.asksForAnswer() || !ended(x) {
			continue
		}
		for _, later := range s.x[x.n+1:] {
			if later.asksForAnswer() && later.Provider == x.Provider && later.Process == x.Process {
				if isRepetition(x, later) {
					times[later] = times[x] + 1
				}
				f(x, later, times[later] > later.unrelated())
				break
			}
		}
	}
}

// isCutByBudget reports whether the reply says that its limit of tokens ended it: by
// stop_reason, incomplete_details or finishReason.
func (x *exchange) isCutByBudget() bool {
	stops := &x.wire.Stops
	return stops.Budget != "" && x.reply.Stop == stops.Budget && strings.Contains(string(x.Response.Body), stops.BudgetWord)
}
