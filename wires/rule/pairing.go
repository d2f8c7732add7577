package rule

import (
	"slices"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// resultsInOrder: results of parallel calls stand in the order of the calls.
func resultsInOrder(s *Seen, p *Pass) {
	for said, answer := range s.Request.Steps() {
		calls, results := wire.OfKind(said, wire.Call), wire.OfKind(answer, wire.Result)
		if len(calls) < 2 || len(results) < 2 {
			continue
		}
		p.Observed += len(results)
		last := 0
		for _, res := range results {
			if k := slices.IndexFunc(calls[last:], res.Answers); k >= 0 {
				last += k
				continue
			}
			if call := callOf(calls, res); call != res {
				p.ReportAt(res.Place, "result of %s stands after the result of a later call", call.Label())
				break
			}
		}
	}
}

// callOf returns the call that a result answers, else the result itself.
func callOf(calls []*wire.Item, res *wire.Item) *wire.Item {
	if k := slices.IndexFunc(calls, res.Answers); k >= 0 {
		return calls[k]
	}
	return res
}

// resultsTogether: a wire with this habit accepts the results of parallel calls in several messages, and its model
// then stops making calls in parallel.
func resultsTogether(s *Seen, p *Pass) {
	if !s.Wire.Has(wires.ResultsTogether) {
		return
	}
	for said, answer := range s.Request.Steps() {
		calls := wire.OfKind(said, wire.Call)
		for i := 1; i < len(answer) && len(calls) > 1; i++ {
			before, it := &answer[i-1], &answer[i]
			if before.What != wire.Result || it.What != wire.Result {
				continue
			}
			if p.Observe(); before.Msg != it.Msg {
				p.ReportAt(it.Place, "result of %s stands in another message than that of %s, a call of the same turn",
					callOf(calls, it).Label(), callOf(calls, before).Label())
				break
			}
		}
	}
}
