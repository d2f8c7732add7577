package check

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// referenceType is the item that names a stored one instead of repeating it.
const referenceType = "item_reference"

// mark is something that the provider issued and that names an item wherever it
// turns up: an id or a continuity token.
type mark struct {
	kind  markKind
	value string
}

type markKind byte

const (
	idMark markKind = iota
	tokenMark
)

// marksOf lists the ids and tokens of an item. What a recorder put in the place
// of a secret is left out: it repeats.
func marksOf(provider string, it *wire.Item) []mark {
	var marks []mark
	add := func(kind markKind, value string) {
		if value != "" && !strings.Contains(value, "REDACTED") {
			marks = append(marks, mark{kind, value})
		}
	}
	if it.What == wire.Call {
		add(idMark, it.ID)
	}
	if it.ItemID != it.ID || it.What != wire.Call {
		add(idMark, it.ItemID) // some clients use it as the call id
	}
	for _, t := range tokensOf(it) {
		add(tokenMark, wire.TokenKey(provider, t))
	}
	return marks
}

// tokensOf lists the tokens an item was issued with, the one to send back first.
func tokensOf(it *wire.Item) []string {
	if it.Token == "" && len(it.AlsoTokens)+len(it.DraftTokens) == 0 {
		return nil
	}
	return append(append([]string{it.Token}, it.AlsoTokens...), it.DraftTokens...)
}

// source is an item of an earlier reply.
type source struct {
	x    *exchange
	item int
}

// maxSources bounds how many earlier replies one mark, content or context points
// to: texts like "ok" repeat, and only recent ones matter.
const maxSources = 12

// addRecent keeps the latest elements of a list.
func addRecent[T any](list []T, e T) []T {
	if list = append(list, e); len(list) > maxSources {
		list = list[len(list)-maxSources:]
	}
	return list
}
