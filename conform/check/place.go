package check

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// PlaceOf says where the exchange with an index stands for a requirement, without
// a check. For an index that is no exchange's, as that of a finding about a process,
// it is what all exchanges have in common.
func (s *Trace) PlaceOf(index int) specs.Place {
	n, ok := slices.BinarySearchFunc(s.x, index, func(x *exchange, index int) int { return cmp.Compare(x.Index, index) })
	if ok {
		x := s.x[n]
		return specs.Place{Provider: x.Provider, Model: x.modelAsked(), Date: x.Date, OtherHost: x.atOtherHost()}
	}
	if len(s.providers) == 1 {
		return specs.Place{Provider: s.providers[0]}
	}
	return specs.Place{}
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
// format. The simulator stands for the provider whatever its address is.
func (x *exchange) atOtherHost() bool {
	return x.Provenance != evidence.ProvenanceSimulator && !x.IsOwnHost()
}
