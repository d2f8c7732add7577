package check

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// diffMembers is wire.Diff for what a provider reads: proto-JSON takes each of its
// own names in two spellings (reference §1.3).
func diffMembers(provider string, a, b *wire.Node, ignore ...string) (path, what string) {
	path, what = wire.Diff(a, b, ignore...)
	if path == "=" || provider != evidence.Gemini {
		return path, what
	}
	return wire.Diff(spellLower(a), spellLower(b), ignore...)
}

// freeObjects hold names that are the client's own.
var freeObjects = map[string]bool{
	"args": true, "response": true, "parameters": true, "parametersJsonSchema": true,
	"responseSchema": true, "responseJsonSchema": true, "properties": true,
}

// spellLower returns n with its names in lower camel case, those of free objects aside.
func spellLower(n *wire.Node) *wire.Node {
	if n == nil || len(n.Items) == 0 {
		return n
	}
	spelled := *n
	spelled.Names, spelled.Items = make([]string, len(n.Names)), make([]*wire.Node, len(n.Items))
	for i, item := range n.Items {
		isFree := false
		if n.Is('{') {
			spelled.Names[i] = lowerCamel(n.Names[i])
			isFree = freeObjects[spelled.Names[i]]
		}
		if !isFree {
			item = spellLower(item)
		}
		spelled.Items[i] = item
	}
	return &spelled
}

func lowerCamel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
