package event

import (
	"slices"
	"strings"
)

// Kind is what a Change is about.
type Kind string

// The kinds, those of shape first.
const (
	Added   Kind = "added"   // an item of the reply: New has its text
	Removed Kind = "removed" // Old has its text
	Stop    Kind = "stop"    // why the reply ended
	Text    Kind = "text"    // a text or the arguments of a call
	Value   Kind = "value"   // any other value
	Count   Kind = "usage"   // a count of tokens
)

// Shape reports whether a change of this kind is one of shape.
func (k Kind) Shape() bool { return k == Added || k == Removed || k == Stop }

// Change is one difference between what two replies, or two requests, say. Old
// or New is "" when only the other side has it. It contains what was said.
type Change struct {
	Kind Kind `json:"kind"`
	// Item is the token of the event or block, with its place; "" for requests.
	Item string `json:"item,omitempty"`
	Path string `json:"path,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// Renaming maps ids and opaque values of one recording to those of another. It
// is learned while the recordings are compared in their order: two values that
// first stand in the same place are the same from then on. It is for one
// goroutine.
type Renaming struct{ there, back map[string]string }

// NewRenaming returns an empty renaming.
func NewRenaming() *Renaming {
	return &Renaming{map[string]string{}, map[string]string{}}
}

// sameValue reports whether two values are equal apart from the names of ids.
func (r *Renaming) sameValue(class Class, a, b string) bool {
	if class != ID && class != Opaque || !strings.Contains(a, "#") || !strings.Contains(b, "#") {
		return a == b
	}
	there, known := r.there[a]
	back, taken := r.back[b]
	if !known && !taken {
		r.there[a], r.back[b] = b, a
		return true
	}
	return there == b && back == a
}

// Changes lists what two replies say differently, in the order of the replies,
// each difference once. Both replies were folded with the names of their
// recordings. A different id or signature alone is not a difference.
func Changes(a, b []Item, r *Renaming) []Change {
	c := changes{renaming: r}
	for _, m := range alignByKey(a, b, Item.Token) {
		switch {
		case m[0] < 0:
			c.addChange(Change{Added, itemLabel(b[m[1]]), "", "", itemText(b[m[1]])})
		case m[1] < 0:
			c.addChange(Change{Removed, itemLabel(a[m[0]]), "", itemText(a[m[0]]), ""})
		default:
			c.compareItems(a[m[0]], b[m[1]])
		}
	}
	return c.list
}

// FieldChanges lists where two requests, given by [Fields], differ.
func FieldChanges(a, b []Field, r *Renaming) []Change {
	c := changes{renaming: r}
	c.compareFields("", a, b)
	return c.list
}

type changes struct {
	list     []Change
	seen     map[Change]bool
	renaming *Renaming
}

// addChange adds a change that was not reported before: a provider may say the
// same thing in several places.
func (c *changes) addChange(x Change) {
	same := x
	if same.Item != "" && x.Kind != Added && x.Kind != Removed {
		same.Item = "."
	}
	if c.seen == nil {
		c.seen = map[Change]bool{}
	}
	if !c.seen[same] {
		c.seen[same] = true
		c.list = append(c.list, x)
	}
}

func (c *changes) compareItems(a, b Item) {
	if !c.renaming.sameValue(a.Class, a.Text, b.Text) {
		c.addChange(Change{Text, itemLabel(a), "", a.Text, b.Text})
	}
	c.compareFields(itemLabel(a), a.Fields, b.Fields)
}

func (c *changes) compareFields(item string, a, b []Field) {
	for _, m := range alignByKey(a, b, func(f Field) string { return f.Path }) {
		switch {
		case m[0] < 0:
			c.addChange(Change{kindOf(b[m[1]]), item, b[m[1]].Path, "", b[m[1]].Value})
		case m[1] < 0:
			c.addChange(Change{kindOf(a[m[0]]), item, a[m[0]].Path, a[m[0]].Value, ""})
		case !c.renaming.sameValue(a[m[0]].Class, a[m[0]].Value, b[m[1]].Value):
			c.addChange(Change{kindOf(a[m[0]]), item, a[m[0]].Path, a[m[0]].Value,
				distinctName(a[m[0]].Value, b[m[1]].Value)})
		}
	}
}

// distinctName returns the new name of an id that does not correspond to the old
// one, although the two recordings number them alike.
func distinctName(old, fresh string) string {
	if old == fresh {
		return fresh + " (another)"
	}
	return fresh
}

func kindOf(f Field) Kind {
	switch {
	case isStop(f.Path):
		return Stop
	case f.Class == Usage:
		return Count
	}
	return Value
}

func itemLabel(i Item) string {
	if i.Place == "" {
		return i.Token()
	}
	return i.Token() + " " + i.Place
}

// telling are the fields that tell most of an item: a text, the name of a tool, the words of an error.
var telling = []string{"text", "content_block.name", "item.name", "functionCall.name", "error.message",
	"response.error.message", "message"}

// itemText returns what an item says, for one that the other reply lacks.
func itemText(i Item) string {
	if i.Pieces {
		return i.Text
	}
	for _, f := range i.Fields {
		if slices.Contains(telling, f.Path) {
			return f.Value
		}
	}
	return ""
}

// maxTable bounds the work of alignByKey: lists whose middles have more pairs
// than this count as entirely different.
const maxTable = 4 << 20

// alignByKey pairs the elements of two lists with the same key, in order and as
// many as possible (the longest common subsequence), and lists the others
// between them: {i, j} for a pair, {i, -1} and {-1, j} for single elements.
func alignByKey[T any](a, b []T, key func(T) string) (pairs [][2]int) {
	ka, kb := elementKeys(a, key), elementKeys(b, key)
	head := 0
	for head < len(ka) && head < len(kb) && ka[head] == kb[head] {
		pairs = append(pairs, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < len(ka)-head && tail < len(kb)-head && ka[len(ka)-1-tail] == kb[len(kb)-1-tail] {
		tail++
	}
	for _, m := range alignMiddle(ka[head:len(ka)-tail], kb[head:len(kb)-tail]) {
		for side := range m {
			if m[side] >= 0 {
				m[side] += head
			}
		}
		pairs = append(pairs, m)
	}
	for i := tail; i > 0; i-- {
		pairs = append(pairs, [2]int{len(ka) - i, len(kb) - i})
	}
	return pairs
}

func elementKeys[T any](list []T, key func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = key(x)
	}
	return out
}

func alignMiddle(a, b []string) (pairs [][2]int) {
	i, j := 0, 0
	if len(a)*len(b) <= maxTable {
		table := commonLengths(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				pairs = append(pairs, [2]int{i, j})
				i, j = i+1, j+1
			case table[i+1][j] >= table[i][j+1]:
				pairs = append(pairs, [2]int{i, -1})
				i++
			default:
				pairs = append(pairs, [2]int{-1, j})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		pairs = append(pairs, [2]int{i, -1})
	}
	for ; j < len(b); j++ {
		pairs = append(pairs, [2]int{-1, j})
	}
	return pairs
}

// commonLengths returns the table of the lengths of the common subsequences of
// a[i:] and b[j:].
func commonLengths(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// Match pairs the equal keys of two recordings in order, and lists the others
// between them: {i, j} for a pair, {i, -1} and {-1, j} for single keys.
func Match(a, b []string) [][2]int {
	return alignByKey(a, b, func(s string) string { return s })
}
