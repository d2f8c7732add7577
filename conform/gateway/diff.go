package gateway

import (
	"strconv"

	"github.com/meerkat-go/conformance/wires/tree"
)

// difference is one place in which two JSON values differ. A nil side has nothing there.
type difference struct {
	path    string
	top     string // the member of the top that holds the place
	member  string // the last name in path
	was, is *tree.Node
}

// maxDifferences bounds what is listed of two bodies.
const maxDifferences = 50

// diffBodies lists where two bodies differ, in the order of the first. Numbers are compared by value
// and the order of members does not count, as for every reader of JSON. A name that stands twice in
// an object is passed over, because readers disagree which of its values counts.
func diffBodies(was, is *tree.Node) (list []difference) {
	add := func(d difference) {
		if len(list) < maxDifferences {
			list = append(list, d)
		}
	}
	var walk func(at difference)
	walk = func(at difference) {
		if tree.Equal(at.was, at.is) {
			return
		}
		switch {
		case at.was.Is(tree.Object) && at.is.Is(tree.Object):
			times := map[string]int{}
			for _, name := range at.was.Names() {
				times[name]++
			}
			for i, name := range at.was.Names() {
				if times[name] == 1 {
					walk(at.atMember(name, at.was.Items()[i], at.is.Get(name)))
				}
			}
			for i, name := range at.is.Names() {
				if at.was.Get(name) == nil {
					walk(at.atMember(name, nil, at.is.Items()[i]))
				}
			}
		case at.was.Is(tree.Array) && at.is.Is(tree.Array) && len(at.was.Items()) == len(at.is.Items()):
			for i, item := range at.was.Items() {
				next := at
				next.path += "[" + strconv.Itoa(i) + "]"
				next.was, next.is = item, at.is.Items()[i]
				walk(next)
			}
		default:
			add(at)
		}
	}
	walk(difference{was: was, is: is})
	return list
}

// diffJSON compares two texts of JSON. It returns the values that differ first, and the texts
// themselves where one of them is no JSON.
func diffJSON(was, is string) (one, other string, isEqual bool) {
	before, err := tree.Parse(was)
	after, otherErr := tree.Parse(is)
	if err != nil || otherErr != nil {
		return was, is, was == is
	}
	list := diffBodies(before, after)
	if len(list) == 0 {
		return "", "", true
	}
	one, other = list[0].bothTexts()
	return one, other, false
}

func (d difference) atMember(name string, was, is *tree.Node) difference {
	next := difference{path: name, top: d.top, member: name, was: was, is: is}
	if d.path != "" {
		next.path = d.path + "." + name
	}
	if d.top == "" {
		next.top = name
	}
	return next
}

// changeText says in a word what happened to the value.
func (d difference) changeText() string {
	switch {
	case d.was == nil:
		return "added"
	case d.is == nil:
		return "left out"
	case d.was.Is(tree.Array) && d.is.Is(tree.Array):
		return "changed from " + strconv.Itoa(len(d.was.Items())) + " to " + strconv.Itoa(len(d.is.Items())) + " elements"
	}
	return "changed"
}

// bothTexts are both values as texts.
func (d difference) bothTexts() (was, is string) {
	text := func(n *tree.Node) string {
		if n.Is(tree.String) {
			return n.Text()
		}
		return n.Raw()
	}
	return text(d.was), text(d.is)
}
