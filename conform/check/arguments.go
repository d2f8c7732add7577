package check

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// describeArguments says how two arguments differ: where both are JSON, the value that
// differs and not a spelling before it.
func describeArguments(was, is string) difference {
	d := describeTextDifference(was, is)
	a, errA := tree.Parse([]byte(was))
	b, errB := tree.Parse([]byte(is))
	path, what := tree.Diff(a, b)
	if errA != nil || errB != nil || path == "=" {
		return d
	}
	d.sentence = strings.TrimSpace("differs at " + cmp.Or(path, "the top") + ": " + what)
	x, y := valueAt(a, path), valueAt(b, path)
	if x == nil || y == nil || x.Is(tree.Object) || x.Is(tree.Array) {
		return d
	}
	shown := describeTextDifference(x.Raw(), y.Raw())
	d.Comparison = shown.Comparison
	d.sentence = fmt.Sprintf("differs at %s: was %s, is %s", cmp.Or(path, "the top"), cutText(x.Raw(), 3*window), cutText(y.Raw(), 3*window))
	if x.Is(tree.Number) && y.Is(tree.Number) {
		d.fix = keepNumbers
	}
	if isRounded(x.Raw(), y.Raw()) {
		d.sentence += ", rounded to what a floating-point number holds"
	}
	return d
}

const keepNumbers = "Keep the text of the arguments as it came and send that: JSON.parse and other parsers read a number as floating point " +
	"and round it, so what is written again has other digits."

// isRounded reports whether is is the integer was after a detour through a float64.
func isRounded(was, is string) bool {
	f, err := strconv.ParseFloat(was, 64)
	g, err2 := strconv.ParseFloat(is, 64)
	return err == nil && err2 == nil && f == g && !strings.ContainsAny(was, ".eE")
}

// valueAt follows a path of wire.Diff.
func valueAt(n *tree.Node, path string) *tree.Node {
	for path != "" && n != nil {
		if rest, isIndex := strings.CutPrefix(path, "["); isIndex {
			number, rest, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if list := n.List(); err != nil || i >= len(list) {
				return nil
			}
			n, path = n.List()[i], rest
			continue
		}
		name := ""
		for _, candidate := range n.Names() { // a name may hold any character
			if strings.HasPrefix(path[1:], candidate) && len(candidate) >= len(name) {
				name = candidate
			}
		}
		if !n.Is(tree.Object) || len(path) < 1+len(name) {
			return nil
		}
		n, path = n.Get(name), path[1+len(name):]
	}
	return n
}
