package check

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/specs"
)

// originRules judge where tokens go (R3, R17, R24).
var originRules = map[string]rule{
	"SIG-018/own-provider": ownProvider,
	"SIG-019/own-model":    ownModel,
}

// issuedTokens finds for each token the exchange that emitted it, whatever provider.
func (s *Trace) issuedTokens() map[string]*exchange {
	from := map[string]*exchange{}
	for _, x := range s.x {
		for i := range x.reply.Items {
			it := &x.reply.Items[i]
			for _, t := range append(append([]string{it.Token}, it.AlsoTokens...), it.DraftTokens...) {
				if k := originKey(t); t != "" && from[k] == nil {
					from[k] = x
				}
			}
		}
	}
	return from
}

// originKey recognises a token also where another base64 alphabet writes it.
func originKey(token string) string { return wire.TokenKey(evidence.Gemini, token) }

// eachToken calls f for every token of a request that an earlier reply issued.
func (s *Trace) eachToken(f func(x *exchange, it *wire.Item, from *exchange)) {
	from := s.issuedTokens()
	s.eachRequest(func(x *exchange) {
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if origin := from[originKey(it.Token)]; it.Token != "" && origin != nil && origin.Index < x.Index {
				f(x, it, origin)
			}
		}
	})
}

func ownProvider(s *Trace, r *report) {
	s.eachToken(func(x *exchange, it *wire.Item, from *exchange) {
		r.addObserved(1)
		if x.Provider != from.Provider {
			r.addFinding(x, it.Place, byProvider(x, "A-34", "O-15", "G-18"), "%s carries the token %s, which %s issued in exchange %d", it.Type, maskToken(it.Token), from.Provider, from.Index)
		}
	})
}

// ownModel: which models read each other's tokens is the provider's secret, so
// another model of the same provider is a warning.
func ownModel(s *Trace, r *report) {
	s.eachToken(func(x *exchange, it *wire.Item, from *exchange) {
		if x.Provider != from.Provider || x.req.Model == "" || from.req.Model == "" {
			return
		}
		r.addObserved(1)
		if a, b := specs.ParseModel(from.req.Model).Bare, specs.ParseModel(x.req.Model).Bare; a != b {
			r.addFinding(x, it.Place, byProvider(x, "A-34", "O-15", "G-18"), "%s carries the token %s of model %s to model %s", it.Type, maskToken(it.Token), a, b)
		}
	})
}
