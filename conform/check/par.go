package check

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

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

// member returns a member of the request and its place; snake is its other spelling.
func (x *exchange) member(path ...string) (*tree.Node, wire.Place) {
	n, at := x.req.Doc, wire.Place{Event: -1, Off: 0}
	for _, name := range path {
		v := n.Any(name, tree.Snake(name))
		if v != nil {
			at.Off = v.Offset()
		}
		n, at.Path = v, strings.TrimPrefix(at.Path+"."+name, ".")
	}
	return n, at
}

// elementPath is the path of element j of the list at path.
func elementPath(path string, j int) string { return path + "[" + strconv.Itoa(j) + "]" }
