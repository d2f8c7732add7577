package check

import (
	"net/url"
	"slices"

	"github.com/meerkat-go/conformance/specs"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// bookOf is what the wire of x knows of requests; the book is empty for a wire without one.
func (x *exchange) bookOf() *rules.Book {
	if b := rules.Books()[x.Provider]; b != nil {
		return b
	}
	return &rules.Book{}
}

// aspectRules are the checks of aspects that the wires judge by rules of single requests.
func aspectRules() map[string]rule {
	all := map[string]rule{}
	for _, b := range rules.Books() {
		for _, aspect := range b.Aspects {
			all[aspect] = func(s *Trace, r *report) {
				s.eachRequest(func(x *exchange) {
					for _, p := range x.aspects[aspect] {
						r.addPass(x, p)
					}
				})
			}
		}
	}
	return all
}

// judgeRequest runs the rules of the wire that need nothing but the request.
func (s *Trace) judgeRequest(x *exchange) map[string][]*rules.Pass {
	book := rules.Books()[x.Provider]
	if book == nil || !x.asksForAnswer() && !x.isWarmUp() {
		return nil
	}
	u, _ := url.Parse(x.Request.URL)
	seen := rules.Seen{Path: u.Path, Header: x.Request.Header, Size: len(x.Request.Body), Root: x.req.Doc, Model: x.modelAsked(), Takes: x.can, Paused: x.goesOnPaused(), Plain: map[int]bool{}}
	for _, l := range x.replays {
		if !slices.ContainsFunc(l.from.reply.Items, func(it wire.Item) bool { return it.What == wire.Result }) {
			seen.Plain[x.req.Items[l.items[0]].Msg] = true
		}
	}
	if kept, isWhole := s.keptTurns(x); isWhole {
		seen.Kept = map[string]bool{}
		for _, from := range kept {
			for _, items := range [][]wire.Item{from.req.Items, from.reply.Items} {
				for i := range items {
					seen.Kept[items[i].ID] = seen.Kept[items[i].ID] || !isOutput(&items[i])
				}
			}
		}
	}
	return book.Judge(seen, func(h rules.Hosts) bool {
		switch h {
		case rules.OwnHosts:
			return !x.atOtherHost()
		case rules.PublicAPI:
			return x.isPublicAPI() && !x.atOtherHost()
		}
		return true
	})
}

// goesOnPaused reports whether the request ends with a turn that the provider paused, with
// which every model goes on (ANT-S2).
func (x *exchange) goesOnPaused() bool {
	return slices.ContainsFunc(x.replays, func(l *link) bool { return l.latest() && l.from.reply.Stop == "pause_turn" })
}

// addPass adds what a rule of the wire reports of x.
func (r *report) addPass(x *exchange, p *rules.Pass) {
	r.addObserved(p.Observed)
	for _, b := range p.Breaches {
		if b.Form == "" {
			continue
		}
		add := r.addFinding
		if b.QuotesProvider {
			add = r.addBare
		}
		add(x, x.placeOf(b.Path), b.Rule, b.Form, b.Args...).Consequence = specs.Consequence(b.Consequence)
	}
}

// placeOf finds where a path leads in the request; members that are absent count as
// standing where the last one that is there does.
func (x *exchange) placeOf(path string) wire.Place {
	at, n := wire.Place{Event: -1, Off: 0, Path: path}, x.req.Doc
	for _, step := range pathStep.FindAllString(path, 64) {
		if n = childOf(n, step); n == nil {
			return at
		}
		at.Off = n.Offset()
	}
	return at
}
