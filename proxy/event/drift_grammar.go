package event

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// grammar is what a number of replies have in common.
type grammar struct {
	replies int
	tokens  map[string]*token
	order   map[[2]string]relation // of two names within one scope
	closed  map[[2]string]bool     // whether a scope with the first always had the second
}

// token is a kind of event or block.
type token struct {
	name, kind string // Part's Name and Type
	whole      bool   // it is about the whole reply
	last       bool   // it ends a reply
	replies    int    // how many had it
	fields     map[string]*field
}

// field is a place in a token's values, identified by its general path.
type field struct {
	parent  string
	count   int // how often it occurred
	objects int // how often as an object with members
	kinds   map[jsontext.Kind]bool
	class   Class
}

func newGrammar() *grammar {
	return &grammar{tokens: map[string]*token{}, order: map[[2]string]relation{}, closed: map[[2]string]bool{}}
}

// learnEvents adds a reply.
func (g *grammar) learnEvents(events []Event) {
	g.replies++
	seen := map[*token]bool{}
	var trace []step
	ordinal := 0
	for _, e := range events {
		for _, p := range e.Parts() {
			if p.Name == "ping" {
				continue // may occur anywhere, or not at all
			}
			t := g.tokenOf(p)
			t.last = t.last || e.Last
			if t.addShape(p.Nodes); !seen[t] {
				seen[t] = true
				t.replies++
			}
			place, _, _ := strings.Cut(p.Place, ".")
			if p.Name == "part" {
				ordinal++
				place = strconv.Itoa(ordinal) // a Gemini part is a scope of its own
			}
			trace = append(trace, step{p.Name, place, e.Index})
		}
	}
	g.learnOrder(trace)
}

func (g *grammar) tokenOf(p Part) *token {
	t := g.tokens[p.Token()]
	if t == nil {
		t = &token{name: p.Name, kind: p.Type, whole: p.Place == "", fields: map[string]*field{}}
		g.tokens[p.Token()] = t
	}
	t.whole = t.whole && p.Place == ""
	return t
}

// addShape adds a part's values.
func (t *token) addShape(nodes []Node) {
	general := generalPaths(nodes)
	for _, n := range nodes {
		path := general[n.Path]
		f := t.fields[path]
		if f == nil {
			f = &field{parent: general[parentOf(n.Path)], kinds: map[jsontext.Kind]bool{}, class: classOf(n)}
			t.fields[path] = f
		}
		kind := n.Kind
		if kind == 'f' {
			kind = 't'
		}
		f.count++
		if f.kinds[kind] = true; kind == '{' && !n.Leaf() {
			f.objects++
		}
	}
}

// generalPaths maps each node's path to the path that all nodes of its meaning
// share: elements without their indexes, but with their types when they have
// one, because a list may hold several kinds.
func generalPaths(nodes []Node) map[string]string {
	types := map[string]string{}
	for _, n := range nodes {
		if n.Key() == "type" && n.Kind == '"' && strings.HasSuffix(parentOf(n.Path), "]") {
			types[parentOf(n.Path)] = "(" + n.Text() + ")"
		}
	}
	general := map[string]string{"": ""}
	for _, n := range nodes {
		if n.Path == "" {
			continue
		}
		parent := parentOf(n.Path)
		above := general[parent]
		if strings.HasSuffix(n.Path, "]") {
			general[n.Path] = above + "[]" + types[n.Path]
		} else {
			general[n.Path] = strings.TrimPrefix(above+"."+n.Path[strings.LastIndexByte(n.Path, '.')+1:], ".")
		}
	}
	return general
}

// parentOf returns the path of what holds a value: an array for an element.
func parentOf(path string) string {
	if strings.HasSuffix(path, "]") {
		return path[:strings.LastIndexByte(path, '[')]
	}
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		return path[:at]
	}
	return ""
}

// isAlwaysPresent reports whether a field was in every object that could have
// it. An array may always be empty.
func (t *token) isAlwaysPresent(path string) bool {
	f := t.fields[path]
	return !strings.HasSuffix(path, "]") && !strings.HasSuffix(path, ")") && f.count >= t.fields[f.parent].objects
}

// kindNames lists the kinds in words.
func kindNames(kinds map[jsontext.Kind]bool) string {
	var list []string
	for kind, name := range map[jsontext.Kind]string{'n': "null", 't': "boolean", '"': "string", '0': "number",
		'{': "object", '[': "array"} {
		if kinds[kind] {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " or ")
}

// step is an event's name in a reply's order; at is the event's index.
type step struct {
	name, place string
	at          int
}

// relation is what holds between the events of two names in every scope.
type relation struct{ firsts, lasts bool }

// learnOrder adds the order of a reply's events. A scope is one block with the
// events about the whole reply: inside it the order is the provider's grammar,
// across blocks it is what the model chose to say.
func (g *grammar) learnOrder(trace []step) {
	for _, scope := range splitScopes(trace) {
		first, last := firstAndLast(scope)
		for a := range first {
			for b := range first {
				if a != b {
					g.narrowRelation([2]string{a, b}, relation{first[a] < first[b], last[a] < last[b]})
				}
			}
			if b := closingEvent(a); b != "" {
				_, there := first[b]
				was, known := g.closed[[2]string{a, b}]
				g.closed[[2]string{a, b}] = there && (was || !known)
			}
		}
	}
}

func (g *grammar) narrowRelation(pair [2]string, now relation) {
	if was, known := g.order[pair]; known {
		now = relation{was.firsts && now.firsts, was.lasts && now.lasts}
	}
	g.order[pair] = now
}

func splitScopes(trace []step) [][]step {
	places := map[string]bool{}
	for _, s := range trace {
		if s.place != "" {
			places[s.place] = true
		}
	}
	if len(places) == 0 {
		places[""] = true
	}
	var list [][]step
	for place := range places {
		var scope []step
		for _, s := range trace {
			if s.place == place || s.place == "" {
				scope = append(scope, s)
			}
		}
		list = append(list, scope)
	}
	return list
}

func firstAndLast(scope []step) (first, last map[string]int) {
	first, last = map[string]int{}, map[string]int{}
	for _, s := range scope {
		if _, seen := first[s.name]; !seen {
			first[s.name] = s.at
		}
		last[s.name] = s.at
	}
	return first, last
}

// closingEvent names the event that ends what an event of this name begins, or "":
// the providers show it by the ends of the names.
func closingEvent(name string) string {
	for _, ends := range [][2]string{{"_start", "_stop"}, {".added", ".done"}, {".delta", ".done"}} {
		if stem, found := strings.CutSuffix(name, ends[0]); found {
			return stem + ends[1]
		}
	}
	return ""
}

// compareOrder finds events in an order that was not recorded, and events that were always closed
// when they were recorded and are not now.
func (f *findings) compareOrder(group string, was, is *grammar) {
	for pair, then := range was.order {
		now, both := is.order[pair]
		if both && (then.firsts && !now.firsts || then.lasts && !now.lasts) {
			f.addFinding(Finding{Severity: Breaking, Rule: "order", Group: group, Event: pair[0],
				Old: "before " + pair[1], New: "not before " + pair[1]})
		}
	}
	for pair, then := range was.closed {
		if now, known := is.closed[pair]; then && known && !now {
			f.addFinding(Finding{Severity: Breaking, Rule: "event-gone", Group: group, Event: pair[1],
				Old: "closes " + pair[0], New: "does not"})
		}
	}
}
