package check

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/specs"
)

// uniqueCalls: Anthropic refuses an id twice in one turn of the model. An id that a
// later turn uses again after it was answered was accepted in a recording of 2026.
func uniqueCalls(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		first := map[string]*wire.Item{}
		answered := map[string]bool{}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if it.What == wire.Result {
				answered[it.ID] = true
			}
			if it.What != wire.Call || it.ID == "" {
				continue
			}
			r.addObserved(1)
			if was := first[it.ID]; was != nil {
				f := r.addFinding(x, it.Place, byProvider(x, "A-18", "OAI-P6", "G-32"), "call id %s is already used at %s", it.ID, was.Place.Path)
				if x.Provider == evidence.Anthropic && answered[it.ID] && was.Name != it.Name {
					f.Consequence = specs.Degraded
				}
				continue
			}
			first[it.ID] = it
		}
	})
}

func uniqueItems(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		first := map[string]string{}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if x.Provider != evidence.OpenAI || it.ItemID == "" {
				continue
			}
			r.addObserved(1)
			if at, again := first[it.ItemID]; again {
				r.addFinding(x, it.Place, "O-9", "item id %s is already used at %s", it.ItemID, at)
				continue
			}
			first[it.ItemID] = it.Place.Path
		}
	})
}
