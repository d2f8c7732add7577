package check

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/wire"
)

func uniqueCalls(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		first := map[string]*wire.Item{}
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if x.Provider != evidence.OpenAI || it.What != wire.Call || it.ID == "" {
				continue
			}
			r.addObserved(1)
			if was := first[it.ID]; was != nil {
				r.addFinding(x, it.Place, "OAI-P6", "call id %s is already used at %s", it.ID, was.Place.Path)
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
