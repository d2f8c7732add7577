package check

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/specs"
)

// PlaceOf says where the exchange with an index stands for a requirement, without
// a check. A finding about a process has no exchange: its place holds what all
// exchanges have in common.
func (s *Trace) PlaceOf(index int) specs.Place {
	if n, ok := s.ordinalOf(index); ok {
		x := s.x[n]
		return specs.Place{Provider: x.Provider, Model: x.modelAsked(), Date: x.Date, OtherHost: x.atOtherHost()}
	}
	if len(s.providers) == 1 {
		return specs.Place{Provider: s.providers[0]}
	}
	return specs.Place{}
}

// ordinalOf finds the exchange with an index.
func (s *Trace) ordinalOf(index int) (int, bool) {
	return slices.BinarySearchFunc(s.x, index, func(x *exchange, index int) int { return cmp.Compare(x.Index, index) })
}

// Calls counts the requests for an answer of a model.
func (s *Trace) Calls() (n int) {
	for _, x := range s.x {
		if x.req.Op == wire.Generate {
			n++
		}
	}
	return n
}

// ReadableRequests counts the calls whose request was kept and can be read. Of a recording
// without one nothing is known about its agent.
func (s *Trace) ReadableRequests() (n int) {
	for _, x := range s.x {
		if x.req.Op == wire.Generate && x.req.Doc != nil {
			n++
		}
	}
	return n
}

// ProviderAccepted reports whether the provider itself, at its own host and in
// evidence that we can trust to be its word, accepted the request of an exchange.
func (s *Trace) ProviderAccepted(index int) bool {
	n, ok := s.ordinalOf(index)
	return ok && s.x[n].ProviderAnswered() && s.x[n].wasAnswered()
}

// wasAnswered reports whether the request was accepted and the model began to
// answer.
func (x *exchange) wasAnswered() bool {
	return x.wasAccepted() && (x.reply.End == wire.Complete || x.reply.End == wire.Pending || len(x.reply.Items) > 0)
}

// modelInPath is the model in the URLs of clouds, whose bodies do not name it.
var modelInPath = regexp.MustCompile(`/models?/([^/:]+)(?::\d+)?(?:[:/][A-Za-z-]+)?$`)

// modelAsked is the model that the request names, else the one that replied.
func (x *exchange) modelAsked() string {
	inPath := ""
	if m := modelInPath.FindStringSubmatch(x.Request.URL); m != nil {
		inPath = m[1]
	}
	return cmp.Or(x.req.Model, inPath, x.reply.Model)
}

// atOtherHost reports whether x went to a host that only speaks the provider's
// format. What stands in for the provider, as the simulator, does so at any address.
func (x *exchange) atOtherHost() bool {
	isStandIn := x.Provenance == evidence.ProvenanceSimulator || x.Provenance == evidence.ProvenanceSynthetic
	return !isStandIn && !x.ownHost
}
