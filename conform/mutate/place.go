package mutate

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// Places is the result of breaking single places that checks say they observed.
type Places struct {
	// Sampled counts the places, Broken those where a change made the check find
	// something.
	Sampled int `json:"sampled"`
	Broken  int `json:"broken"`
	// BeyondReach counts those that are known to need several changes at once.
	BeyondReach int `json:"beyondReach"`
	// Faults names the places where no change did: what cannot be broken there was
	// counted as observed.
	Faults []string `json:"-"`
}

// beyondReach are the places of all samples that no single change of what
// stands there breaks, and why: the case by the check.
var beyondReach = map[[2]string]string{
	{"STR-007/partial-turn", "anthropic-cut"}:        "signed thinking of the cut reply would have to be copied into the next request",
	{"RES-004/last-reply", "anthropic-cut"}:          "the reply would have to be lost in both requests that go on from it; without it in one the conversation forks",
	{"RES-002/system", "openai-namespace"}:           "nothing was said to the system, and no change adds a member that the provider knows",
	{"RES-002/system", "anthropic-server-tool"}:      "nothing was said to the system, and no change adds a member that the provider knows",
	{"RES-004/last-reply", "anthropic-recovery"}:     "the request that failed and the one that is tried again hold the reply both",
	{"RES-004/last-reply", "openai-tool-search"}:     "the reply would have to be lost whole, and it is three items",
	{"RES-004/last-reply", "openai-websocket"}:       "what the provider keeps is not sent, so that no change of a request loses it",
	{"TOOL-004/forced-once", "anthropic-parameters"}: "a tool is forced too often in a later request of a loop only, and the case has none",
	{"TSC-001/root", "openai-namespace"}:             "the tool stands in a namespace, where no mutant looks for it",
	{"PAR-007/max-output", "anthropic-clouds"}:       "the model stands in the address, where no mutant looks for it",
	{"STR-010/exit-code", "openai-budget"}:           "the run went on after the reply that was cut short; it would have to end there",
	{"STR-010/exit-code", "anthropic-malformed"}:     "the run went on after the reply that was cut short; it would have to end there",
	{"STR-010/exit-code", "anthropic-pause"}:         "the run went on after the reply that paused; it would have to end there",
	{"RES-002/system", "openai-tool-list"}:           "nothing was said to the system, and no change adds a member that the provider knows",
	{"TOOL-004/forced-once", "openai-parameters"}:    "a tool is forced too often in a later request of a loop only, and the case has none",
	{"TOOL-004/forced-once", "gemini-parameters"}:    "a tool is forced too often in a later request of a loop only, and the case has none",
	{"TSC-004/references", "openai-namespace"}:       "the tool stands in a namespace, where no mutant looks for it",
	{"TSC-001/root", "openai-client-search"}:         "the tool stands in the output of a search, where no mutant looks for it",
	{"TSC-004/references", "openai-client-search"}:   "the tool stands in the output of a search, where no mutant looks for it",
	{"MCP-001/found", "openai-namespace"}:            "the tool stands in a namespace, where no mutant looks for it",
	{"MCP-001/found", "anthropic-betas"}:             "the tool is the provider's own, which no mutant takes for one of an agent",
	{"OPS-001/own-replies", "openai-compaction"}:     "a reply of another conversation would have to be sent whole, and the case ends there",
	{"ORD-008/own-turn", "gemini-code"}:              "code has nothing by which it is recognised in another turn",
}

// observedPlace is an exchange that a check counts: without it, it observes less.
type observedPlace struct {
	rule report.Rule
	ev   *evidence.Evidence
	// x is the ordinal of the exchange in ev.
	x int
}

// BreakPlaces takes n of the places that checks observe in good evidence, the same ones
// for the same seed, and changes what stands there, one thing at a time, until the check
// finds something. The good evidence must pass.
func BreakPlaces(good []evidence.Evidence, rules []report.Rule, seed uint64, n int) (result Places) {
	dice := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample, no secret
	all := observedPlaces(good, rules)
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all[:min(n, len(all))] {
		result.Sampled++
		if p.breakOnce(dice) {
			result.Broken++
			continue
		}
		if beyondReach[[2]string{p.rule.Check.ID, p.ev.Case}] != "" {
			result.BeyondReach++
			continue
		}
		result.Faults = append(result.Faults, fmt.Sprintf("%s: observes exchange %d of %s, and nothing that is changed there trips it",
			p.rule.Check.ID, p.ev.Exchanges[p.x].Index, p.ev.Case))
	}
	return result
}

// observedPlaces lists for each rule and case the exchanges that the check counts.
func observedPlaces(good []evidence.Evidence, rules []report.Rule) (list []observedPlace) {
	for i := range good {
		ev := &good[i]
		whole := report.Judge(rules, ev)
		without := make([][]report.Result, len(ev.Exchanges))
		for x := range ev.Exchanges {
			without[x] = report.Judge(rules, withoutExchange(ev, x))
		}
		for r, rule := range rules {
			if whole[r].Verdict != report.Pass {
				continue
			}
			for x := range ev.Exchanges {
				if without[x][r].Observed < whole[r].Observed {
					list = append(list, observedPlace{rule, ev, x})
				}
			}
		}
	}
	return list
}

func withoutExchange(ev *evidence.Evidence, x int) *evidence.Evidence {
	less := *ev
	less.Exchanges = slices.Delete(slices.Clone(ev.Exchanges), x, x+1)
	return &less
}

// breakOnce reports whether some change trips the check: a mutant of the requirement, one
// of the changes that are made of any body, in random order, or such a change of the
// next exchanges, where what this one was answered comes back.
func (p observedPlace) breakOnce(dice *rand.Rand) bool {
	if p.mutantTrips() {
		return true
	}
	for at := p.x; at < len(p.ev.Exchanges); at++ {
		changes := changesOf(&p.ev.Exchanges[at])
		dice.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for _, change := range changes {
			bad := cloneEvidence(*p.ev)
			if change(&bad.Exchanges[at]); p.tripsCheck(bad, -1) {
				return true
			}
		}
	}
	return false
}

// needSeveral are checks whose breach no small change makes, such as never to ask and
// never to send back, a whole message of another conversation, the mark of a redactor,
// another spelling of an argument, or a clock in each request. A mutant makes them where it first can, so that one that trips the
// check anywhere in the case is enough.
var needSeveral = []string{"SIG-012/asked-for", "OPS-001/own-replies", "RED-002/arguments", "RES-007/bytes", "CAC-001/volatile"}

// mutantTrips reports whether a mutant of the requirement trips the check in this exchange, or
// in a later one that it leads to.
func (p observedPlace) mutantTrips() bool {
	first := p.ev.Exchanges[p.x].Index
	if slices.Contains(needSeveral, p.rule.Check.ID) {
		first = -1
	}
	for _, m := range All() {
		if !slices.Contains(m.Kills, p.rule.Requirement.ID) {
			continue
		}
		ev := *p.ev
		for from := 0; from <= p.x; from++ { // a mutant changes the first place it can
			if bad, ok := m.Apply(ev); ok && p.tripsCheck(bad, first) {
				return true
			}
			ev = *withoutExchange(&ev, 0)
		}
	}
	return false
}

// tripsCheck reports whether the check finds something, with at >= 0 in that exchange or one
// after it.
func (p observedPlace) tripsCheck(bad evidence.Evidence, at int) bool {
	found := report.Judge([]report.Rule{p.rule}, &bad)[0].Findings
	return slices.ContainsFunc(found, func(f report.Finding) bool { return at < 0 || f.Exchange < 0 || int(f.Exchange) >= at })
}
