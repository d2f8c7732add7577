package check

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/wire"
)

// oneContent: the results of one step are the content right after it, as many as the calls
// and named like them (G-14, G-15, G-32). An id on one side alone is accepted.
func oneContent(s *Trace, r *report) {
	s.eachStep(func(x *exchange, st step) {
		calls, results := x.clientCalls(st.run), x.itemsOfKind(st.answer, wire.Result)
		if x.Provider != evidence.Gemini || len(calls) == 0 || len(results) == 0 {
			return
		}
		r.addObserved(len(calls))
		first := x.itemsOfKind(sameContent(x, results[0]), wire.Result)
		if len(first) != len(calls) {
			r.addFinding(x, results[0].Place, "G-15", "the content after %d function calls holds %d function responses", len(calls), len(first))
			return
		}
		if x.req.Items[st.answer.from].Msg != results[0].Msg {
			r.addFinding(x, results[0].Place, "G-14", "another content stands between the function calls and the function responses")
			return
		}
		if len(results) > len(calls) {
			r.addFinding(x, results[len(calls)].Place, "G-14", "%d function responses answer %d function calls", len(results), len(calls))
			return
		}
		oneSided(x, r, calls, results)
	})
}

func sameContent(x *exchange, it *wire.Item) span {
	from := slices.IndexFunc(x.req.Items, func(o wire.Item) bool { return o.Msg == it.Msg })
	to := from
	for to < len(x.req.Items) && x.req.Items[to].Msg == it.Msg {
		to++
	}
	return span{from, to}
}

func oneSided(x *exchange, r *report, calls, results []*wire.Item) {
	for _, res := range results {
		if !slices.ContainsFunc(calls, func(c *wire.Item) bool { return c.Name == res.Name }) {
			r.addFinding(x, res.Place, "GEM-C4", "function response %s matches no call by name", nameOf(res))
		}
	}
}

// callTurn: calls follow something the user said or a function response, with
// at most other contents of the model between, which the API joins (G-13, G-31).
func callTurn(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if x.Provider != evidence.Gemini {
			return
		}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if it.What != wire.Call {
				continue
			}
			r.addObserved(1)
			if x.req.Msgs[0].Role == "assistant" && i < x.runs[0].to {
				r.addFinding(x, it.Place, "G-13", "the content with function call %s does not follow a user content", nameOf(it))
			}
		}
	})
}
