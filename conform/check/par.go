package check

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// eachRequestOf calls f for every request to a host of the provider itself, of the wires with a habit.
func (s *Trace) eachRequestOf(h wires.Habit, f func(x *exchange)) {
	s.eachPolicyRequest("", func(x *exchange) {
		if x.wire.Has(h) {
			f(x)
		}
	})
}

// eachPolicyRequest calls f for every request of a provider, "" for all, that its
// policies hold for: those of its own hosts and of a simulator, which has them too.
func (s *Trace) eachPolicyRequest(provider string, f func(x *exchange)) {
	s.eachRequest(func(x *exchange) {
		if (provider == "" || x.Provider == provider) && !x.atOtherHost() {
			f(x)
		}
	})
}

// isPublicAPI reports whether the request went to the public host of the API; other hosts of the provider
// take other members.
func (x *exchange) isPublicAPI() bool {
	u, err := url.Parse(x.Request.URL)
	return x.Provenance == evidence.ProvenanceSimulator || err == nil && strings.EqualFold(u.Hostname(), x.wire.Host)
}

// isProvidersModel reports whether the name is of the provider's own family: an address may be that of a
// gateway that was written over.
func isProvidersModel(x *exchange) bool {
	own := x.wire.Models.Families
	return own == nil || x.req.Model == "" || slices.Contains(own, specs.ParseModel(x.req.Model).Family)
}

func headerPlace(name string) wire.Place { return wire.Place{Event: -1, Off: -1, Path: name} }

// member returns a member of the request and its place; snake is its other spelling.
func (x *exchange) member(path ...string) (*tree.Node, wire.Place) {
	n, at := x.req.Doc, wire.Place{Event: -1, Off: 0}
	for _, name := range path {
		v := n.Any(name, snakeCase(name))
		if v != nil {
			at.Off = v.Offset()
		}
		n, at.Path = v, strings.TrimPrefix(at.Path+"."+name, ".")
	}
	return n, at
}

// snakeCase spells a JSON name as proto does.
func snakeCase(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// elementPath is the path of element j of the list at path.
func elementPath(path string, j int) string { return path + "[" + strconv.Itoa(j) + "]" }
