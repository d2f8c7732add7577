package inspector

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// States of a part of a request; see [Part].
const (
	partSame    = "same"
	partChanged = "changed"
	partMoved   = "moved"
	partNew     = "new"
)

// requestPart is one part of a request: the tools, the system prompt, a message.
type requestPart struct {
	name string
	node *tree.Node
}

// comparePrefix compares a request with the one that it continues. It returns nil where
// one of them cannot be read.
func comparePrefix(provider string, before, now *decoded) *Prefix {
	if before.request.Doc == nil || now.request.Doc == nil {
		return nil
	}
	p := &Prefix{Common: decide.FirstDifference(before.body, now.body), Was: len(before.body), Is: len(now.body)}
	was, is := requestParts(provider, before.request), requestParts(provider, now.request)
	for i, part := range is {
		state := partNew
		switch {
		case p.Broke != "":
			state = partMoved
		case i >= len(was):
		case samePart(was[i], part):
			state = partSame
		default:
			state, p.Broke = partChanged, part.name
		}
		p.addPart(part, state)
	}
	if p.Broke == "" && len(was) > len(is) {
		p.Broke = was[len(is)].name + ", which is gone"
	}
	return p
}

// samePart compares as a cache does: marks that say where to cache do not count.
func samePart(a, b requestPart) bool {
	return a.name == b.name && (tree.SameTokens(a.node, b.node) || tree.Equal(a.node, b.node, "cache_control"))
}

// requestParts lists what the provider reads, in the order in which it does.
func requestParts(provider string, q *wire.Request) (parts []requestPart) {
	named := []requestPart{{"tools", q.Tools}, {"system", q.System}}
	if wires.Find(provider).Has(wires.PromptFirst) {
		named[0], named[1] = named[1], named[0]
	}
	for _, part := range named {
		if part.node != nil {
			parts = append(parts, part)
		}
	}
	for _, m := range q.Msgs {
		parts = append(parts, requestPart{m.Path, m.Node})
	}
	return parts
}

// addPart adds a part, to the last entry where both are messages of the same state.
func (p *Prefix) addPart(part requestPart, state string) {
	length := len(part.node.Raw())
	if k := len(p.Parts) - 1; k >= 0 && p.Parts[k].State == state && state != partChanged && isMessage(part.name) &&
		isMessage(p.Parts[k].Name) {
		last := &p.Parts[k]
		last.Bytes += length
		first, _, _ := strings.Cut(last.Name, " ")
		last.Name = first + " … " + part.name
		return
	}
	p.Parts = append(p.Parts, Part{part.name, length, state})
}

func isMessage(name string) bool { return name != "tools" && name != "system" }
