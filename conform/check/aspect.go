package check

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/members"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// bookOf is what the wire of x knows of requests; the book is empty for a wire without one.
func (x *exchange) bookOf() *rules.Book {
	if b := rules.Books()[x.Provider]; b != nil {
		return b
	}
	return &rules.Book{Members: func() *members.Description { return &members.Description{} }}
}

// readSeen is what the rules of the wire see of x alone.
func (x *exchange) readSeen() rules.Seen {
	u, err := url.Parse(x.Request.URL)
	if err != nil {
		u = &url.URL{}
	}
	seen := rules.Seen{
		URL: u, Header: x.Request.Header, Body: x.Request.Body, Root: x.req.Doc, Request: x.req, Wire: x.wire, Found: &members.Found{},
		IsModelInPath: modelInPath.MatchString(u.Path), IsOwnModel: isProvidersModel(x), IsMessage: x.WebSocket > 0,
	}
	if x.req.Doc != nil && x.req.Op == wire.Generate {
		seen.Found = x.bookOf().Inspect(&seen)
	}
	return seen
}

// wasIssued reports whether a reply before x holds something of a type: what a provider
// issues it takes back, also where nobody has described it yet.
func (s *Trace) wasIssued(typeName string, x *exchange) bool {
	quoted := []byte(strconv.Quote(typeName))
	return slices.ContainsFunc(s.x[:x.n], func(earlier *exchange) bool {
		return earlier.Provider == x.Provider && bytes.Contains(earlier.Response.Body, quoted)
	})
}

// aspectRules are the checks of aspects that the wires judge by rules of single requests.
func aspectRules() map[string]rule {
	all := map[string]rule{}
	for _, b := range rules.Books() {
		for _, aspect := range b.AllAspects() {
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
	seen := x.seen
	seen.Model, seen.Takes, seen.Paused, seen.Plain = x.modelAsked(), x.can, x.goesOnPaused(), map[int]bool{}
	seen.IsKept = x.isKeptByProvider()
	seen.WasIssued = func(name string) bool { return s.wasIssued(name, x) }
	seen.IsShown = func(header string) bool {
		client := x.Request.Header.Get("User-Agent")
		return client != "" && slices.ContainsFunc(s.x, func(o *exchange) bool {
			return o.Provider == x.Provider && o.Request.Header.Get(header) != "" && o.Request.Header.Get("User-Agent") == client
		})
	}
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
	return book.JudgeAll(&seen, func(h rules.Hosts) bool {
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
		f := add(x, x.placeOf(b.Path), b.Rule, b.Form, b.Args...)
		f.Consequence, f.Form = specs.Consequence(b.Consequence), cmp.Or(b.Cause, b.Form)
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
