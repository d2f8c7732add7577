package check

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/wire"
)

// describeArguments says how two arguments differ: where both are JSON, the value that
// differs and not a spelling before it.
func describeArguments(was, is string) difference {
	d := describeTextDifference(was, is)
	a, errA := wire.Parse([]byte(was))
	b, errB := wire.Parse([]byte(is))
	path, what := wire.Diff(a, b)
	if errA != nil || errB != nil || path == "=" {
		return d
	}
	d.sentence = strings.TrimSpace("differs at " + cmp.Or(path, "the top") + ": " + what)
	x, y := valueAt(a, path), valueAt(b, path)
	if x == nil || y == nil || x.Is('{') || x.Is('[') {
		return d
	}
	shown := describeTextDifference(string(x.Raw), string(y.Raw))
	d.Comparison = shown.Comparison
	d.sentence = fmt.Sprintf("differs at %s: %s was %s", cmp.Or(path, "the top"), cutText(string(y.Raw), 3*window), cutText(string(x.Raw), 3*window))
	if isRounded(string(x.Raw), string(y.Raw)) {
		d.sentence += ", rounded to what a floating-point number holds"
	}
	return d
}

// isRounded reports whether is is the integer was after a detour through a float64.
func isRounded(was, is string) bool {
	f, err := strconv.ParseFloat(was, 64)
	g, err2 := strconv.ParseFloat(is, 64)
	return err == nil && err2 == nil && f == g && !strings.ContainsAny(was, ".eE")
}

// valueAt follows a path of wire.Diff.
func valueAt(n *wire.Node, path string) *wire.Node {
	for path != "" && n != nil {
		if rest, isIndex := strings.CutPrefix(path, "["); isIndex {
			number, rest, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if list := n.Elems(); err != nil || i >= len(list) {
				return nil
			}
			n, path = n.Elems()[i], rest
			continue
		}
		name := ""
		for _, candidate := range n.Names { // a name may hold any character
			if strings.HasPrefix(path[1:], candidate) && len(candidate) >= len(name) {
				name = candidate
			}
		}
		if !n.Is('{') || len(path) < 1+len(name) {
			return nil
		}
		n, path = n.Get(name), path[1+len(name):]
	}
	return n
}
