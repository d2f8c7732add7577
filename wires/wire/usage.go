package wire

import (
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Usage is what a provider counted, in tokens; -1 where the reply does not say. Input is everything that was
// read, whether or not it came from the cache, and Output includes Reasoning.
type Usage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
}

// UsageOf returns what the provider counted for a reply, nil where the reply does not say.
func UsageOf(provider string, r *Reply) *Usage {
	usage, isSaid := Usage{-1, -1, -1, -1, -1}, false
	for i := range len(r.Events) + 1 {
		doc := r.Doc
		if i > 0 {
			doc = r.Events[i-1].JSON
		}
		isSaid = usage.Add(provider, doc) || isSaid
	}
	if !isSaid {
		return nil
	}
	return &usage
}

// Add takes over what a reply, or an event of one, counts, and reports whether it counts anything.
func (u *Usage) Add(provider string, doc *tree.Node) bool {
	w := wires.Find(provider)
	if w == nil {
		return false
	}
	n := memberAt(doc, w.Usage.Path)
	if !n.Is(tree.Object) {
		return false
	}
	u.readCounters(w.Usage, n)
	return true
}

// memberAt returns what one of several paths leads to, nil if none does.
func memberAt(n *tree.Node, paths string) *tree.Node {
	for path := range strings.FieldsSeq(paths) {
		at := n
		for name := range strings.SplitSeq(path, ".") {
			at = at.Get(name)
		}
		if at != nil {
			return at
		}
	}
	return nil
}

// readCounters takes over what n says. Later events of a stream count on.
func (u *Usage) readCounters(names wires.Usage, n *tree.Node) {
	count := func(to *int, paths string) int {
		said := memberAt(n, paths).Int()
		if said >= 0 {
			*to = said
		}
		return said
	}
	count(&u.CacheRead, names.CacheRead)
	count(&u.CacheWrite, names.CacheWrite)
	count(&u.Reasoning, names.Reasoning)
	if count(&u.Input, names.Input) >= 0 {
		u.Input += max(memberAt(n, names.ToolInput).Int(), 0)
		if names.CacheApart {
			u.Input += max(u.CacheRead, 0) + max(u.CacheWrite, 0)
		}
	}
	if count(&u.Output, names.Output) >= 0 && names.ReasoningApart {
		u.Output += max(u.Reasoning, 0)
	}
}
