package mutate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// parseLiteral reads JSON that stands in this package or its tables.
func parseLiteral(text string) *tree.Node {
	n, err := tree.Parse(text)
	if err != nil {
		panic("mutate: " + err.Error() + ": " + text)
	}
	return n
}

// encodeTree writes a tree. What is not changed keeps its bytes, white space included.
func encodeTree(n *tree.Node) []byte {
	if !n.Is(tree.Object | tree.Array) {
		return []byte(n.Raw())
	}
	if was, err := tree.Parse(n.Raw()); err == nil && isUnchanged(n, was) {
		return []byte(n.Raw())
	}
	out, end := []byte("["), byte(']')
	if n.Is(tree.Object) {
		out, end = []byte("{"), '}'
	}
	for i, v := range n.Items() {
		if i > 0 {
			out = append(out, ',')
		}
		if n.Is(tree.Object) {
			out = append(append(out, tree.Quote(n.Names()[i])...), ':')
		}
		out = append(out, encodeTree(v)...)
	}
	return append(out, end)
}

func isUnchanged(n, was *tree.Node) bool {
	if n.Kind() != was.Kind() || len(n.Items()) != len(was.Items()) || !slices.Equal(n.Names(), was.Names()) {
		return false
	}
	if !n.Is(tree.Object | tree.Array) {
		return n.Raw() == was.Raw()
	}
	for i, v := range n.Items() {
		if !isUnchanged(v, was.Items()[i]) {
			return false
		}
	}
	return true
}

// copyTree returns a tree that can be changed apart from n.
func copyTree(n *tree.Node) *tree.Node { return parseLiteral(string(encodeTree(n))) }

// spot is a place in a tree: the element or member number at of parent, or the member
// name that parent does not have yet, with at -1.
type spot struct {
	parent *tree.Node
	at     int
	name   string
}

// rootSpot returns a spot where n stands alone.
func rootSpot(n *tree.Node) spot { return spot{tree.NewArray(n), 0, ""} }

// findNode returns what stands at the spot, nil for nothing.
func (s spot) findNode() *tree.Node {
	if s.parent == nil || s.at < 0 || s.at >= len(s.parent.Items()) {
		return nil
	}
	return s.parent.Items()[s.at]
}

// putNode sets the value at the spot. It reports false where nothing can stand.
func (s spot) putNode(v *tree.Node) bool {
	switch {
	case s.findNode() != nil:
		s.parent.Items()[s.at] = v
	case s.name != "" && s.parent.Is(tree.Object):
		s.parent.SetMembers(append(s.parent.Names(), s.name), append(s.parent.Items(), v))
	default:
		return false
	}
	return true
}

// removeNode takes the value at the spot away.
func (s spot) removeNode() bool {
	if s.findNode() == nil {
		return false
	}
	items := slices.Delete(slices.Clone(s.parent.Items()), s.at, s.at+1)
	if s.parent.Is(tree.Object) {
		s.parent.SetMembers(slices.Delete(slices.Clone(s.parent.Names()), s.at, s.at+1), items)
	} else {
		s.parent.SetItems(items)
	}
	return true
}

// insertNode puts v before the spot, which may be the end of an array.
func (s spot) insertNode(v *tree.Node) bool {
	if !s.parent.Is(tree.Array) || s.at < 0 || s.at > len(s.parent.Items()) {
		return false
	}
	s.parent.SetItems(slices.Insert(slices.Clone(s.parent.Items()), s.at, v))
	return true
}

// memberOf returns the spot of the first of some members that n has, or of the first
// name where n has none of them.
func memberOf(n *tree.Node, names ...string) spot {
	for _, name := range names {
		if i := slices.Index(n.Names(), name); i >= 0 {
			return spot{n, i, name}
		}
	}
	return spot{n, -1, names[0]}
}

// followPath goes down from a spot by a path such as generationConfig|generation_config.stop[0].
// An index below 0 counts from the end; [+] is the place behind the last element.
func (s spot) followPath(path string) spot {
	for path != "" {
		step := path
		if i := strings.IndexAny(path[1:], ".["); i >= 0 {
			step = path[:i+1]
		}
		path = path[len(step):]
		n := s.findNode()
		if !strings.HasPrefix(step, "[") {
			s = memberOf(n, strings.Split(strings.TrimPrefix(step, "."), "|")...)
			continue
		}
		i, size := 0, len(n.Items())
		switch index := strings.Trim(step, "[]"); index {
		case "+":
			i = size
		default:
			if i, _ = strconv.Atoi(index); i < 0 {
				i += size
			}
		}
		s = spot{n, i, ""}
	}
	return s
}

// swapSpots exchanges two values, of objects with their names.
func swapSpots(a, b spot) bool {
	v, w := a.findNode(), b.findNode()
	if v == nil || w == nil || v == w {
		return false
	}
	a.parent.Items()[a.at], b.parent.Items()[b.at] = w, v
	if a.parent == b.parent && a.parent.Is(tree.Object) {
		names := a.parent.Names()
		names[a.at], names[b.at] = names[b.at], names[a.at]
	}
	return true
}

// removeItem takes an item out, and its turn if nothing else is in it.
func (c *cursor) removeItem(it *item) bool {
	turns := c.findSpot(":turns").findNode()
	if c.provider == chat && it.parent != turns {
		return c.removeFromMessage(it)
	}
	if it.parent == turns || !it.parent.Is(tree.Array) || len(it.parent.Items()) == 1 {
		return c.turnSpot(it).removeNode()
	}
	return it.currentSpot().removeNode()
}

// removeFromMessage takes an item out of a message of Chat Completions, which holds its items in several members. A
// message that neither says nor calls anything any more is taken out as well.
func (c *cursor) removeFromMessage(it *item) bool {
	turn, holder := c.turnSpot(it), it.currentSpot()
	message := turn.findNode()
	if it.parent != message {
		if len(it.parent.Items()) > 1 {
			return holder.removeNode()
		}
		holder = spot{message, slices.Index(message.Items(), it.parent), ""}
	}
	isContent := holder.findNode() == message.Get("content")
	holder.putNode(parseLiteral("null"))
	content := message.Get("content")
	if content.Text() == "" && len(content.Items()) == 0 && message.Get("tool_calls").Null() {
		return turn.removeNode()
	}
	return isContent || holder.removeNode()
}

// turnSpot returns where the turn of an item stands now.
func (c *cursor) turnSpot(it *item) spot {
	turns := c.findSpot(":turns").findNode()
	for i, turn := range turns.List() {
		if turn == it.node || turn == it.parent || slices.Contains(turn.Items(), it.parent) {
			return spot{turns, i, ""}
		}
	}
	return spot{}
}

// currentSpot returns where the item stands after other steps.
func (it *item) currentSpot() spot {
	return spot{it.parent, slices.Index(it.parent.Items(), it.node), it.spot.name}
}
