package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

// diffMembers is wire.Diff for what a provider reads: proto-JSON takes each of its
// own names in two spellings (reference §1.3).
func diffMembers(provider string, a, b *tree.Node, ignore ...string) (path, what string) {
	path, what = tree.Diff(a, b, ignore...)
	if path == "=" || !wires.Find(provider).Has(wires.TwoSpellings) {
		return path, what
	}
	return tree.Diff(spellLower(a), spellLower(b), ignore...)
}

// freeObjects hold names that are the client's own.
var freeObjects = map[string]bool{
	"args": true, "response": true, "parameters": true, "parametersJsonSchema": true,
	"responseSchema": true, "responseJsonSchema": true, "properties": true,
}

// spellLower returns n with its names in lower camel case, those of free objects aside.
func spellLower(n *tree.Node) *tree.Node {
	if n == nil || len(n.Items()) == 0 {
		return n
	}
	names, items := slices.Clone(n.Names()), slices.Clone(n.Items())
	for i := range items {
		isFree := false
		if n.Is(tree.Object) {
			names[i] = tree.Camel(names[i])
			isFree = freeObjects[names[i]]
		}
		if !isFree {
			items[i] = spellLower(items[i])
		}
	}
	spelled := *n
	spelled.SetMembers(names, items)
	return &spelled
}
