package event

import "strings"

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
			f.addFinding(Finding{Severity: Breaking, Rule: "event-gone", Group: group, Event: pair[1], Old: "closes " + pair[0], New: "does not"})
		}
	}
}
