package check

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/members"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
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
		URL: u, Header: x.Request.Header, Body: x.Request.Body, Root: x.req.Doc, Request: x.req, Wire: x.wire,
		Found:         &members.Found{},
		IsModelInPath: rules.ModelInPath(u.Path) != "", IsOwnModel: isProvidersModel(x), IsMessage: x.WebSocket > 0,
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
				for _, x := range s.x {
					for _, p := range x.aspects[aspect] {
						r.addPass(x, p)
					}
				}
			}
		}
	}
	return all
}

// replyAspects are the checks of aspects that the wires judge by rules of replies.
func replyAspects() map[string]rule {
	all := map[string]rule{}
	for _, info := range rules.ReplyRules() {
		if aspect := info.Aspect; aspect != "" {
			all[aspect] = func(s *Trace, r *report) {
				s.eachReplyPass(func(p *rules.ReplyPass) bool { return p.Aspect == aspect }, r.addReplyPass)
				if strings.HasSuffix(aspect, "/grammar") {
					r.Observed = s.countEvents(aspect) // the rules of a grammar look at the same events
				}
			}
		}
	}
	return all
}

// OfDuties returns the checks of replies by the ids of the duties of servers. With aspects, the server
// is judged, by all rules and by what they lead to for its clients. Without, the agent is: then
// aspects of requirements stand for some of the rules.
func OfDuties(withAspects bool) (checks []Check) {
	seen := map[string]bool{}
	for _, info := range rules.ReplyRules() {
		id := info.Duty
		if seen[id] || info.Aspect != "" && !withAspects {
			continue
		}
		seen[id] = true
		c := newCheck(id+specs.DutyAspect, func(s *Trace, r *report) {
			s.eachReplyPass(func(p *rules.ReplyPass) bool { return p.ID == id && (withAspects || p.Aspect == "") },
				func(x *exchange, p *rules.ReplyPass) {
					from := len(r.Findings)
					r.addReplyPass(x, p)
					for i := 0; withAspects && i < len(p.Breaches); i++ {
						f := &r.Findings[from+i]
						f.Consequence = cmp.Or(f.Consequence, specs.Consequence(p.Breaches[i].Consequence))
					}
				})
		})
		c.Source = true
		checks = append(checks, c)
	}
	return checks
}

// eachReplyPass visits what rules of replies saw.
func (s *Trace) eachReplyPass(holds func(*rules.ReplyPass) bool, visit func(*exchange, *rules.ReplyPass)) {
	for _, x := range s.x {
		for _, p := range x.replyPasses {
			if holds(p) {
				visit(x, p)
			}
		}
	}
}

// countEvents counts the events at which the rules of an aspect look.
func (s *Trace) countEvents(aspect string) (sum int) {
	for _, x := range s.x {
		most := 0
		for _, p := range x.replyPasses {
			if p.Aspect == aspect {
				most = max(most, p.Observed)
			}
		}
		sum += most
	}
	return sum
}

// addReplyPass adds what a rule reports of the reply of x. A requirement that speaks of replies that
// nobody put in leaves those alone.
func (r *report) addReplyPass(x *exchange, p *rules.ReplyPass) {
	isOfReply := strings.HasPrefix(p.Aspect, "ERR-003/")
	if isOfReply && x.isInjected() {
		return
	}
	r.addObserved(p.Observed)
	for _, b := range p.Breaches {
		args := slices.Clone(b.Args)
		for i, arg := range args {
			if d, ok := arg.(rules.Difference); ok {
				args[i] = describeTextDifference(d.Was, d.Is)
			}
		}
		f := r.addBare(x, b.At, b.Rule, b.Form, args...)
		if isOfReply && p.Aspect != "ERR-003/event" && p.Aspect != "ERR-003/provider-object" {
			suspectRecorder(f, x)
		}
	}
}

// suspectRecorder makes f a warning about the recording where its format cannot say how a
// reply ended: a recorder or a fixture may have lost what is missing.
func suspectRecorder(f *Finding, x *exchange) {
	if x.Response.End == "" {
		f.Message += "; the recording does not say how the reply ended, and its recorder may have lost the rest"
		f.Consequence = specs.Degraded
	}
}

// judgeReply runs the rules of replies over x.
func (s *Trace) judgeReply(x *exchange) []*rules.ReplyPass {
	if x.Missed {
		return nil
	}
	seen := x.ToJudge(x.reply)
	seen.Asked, seen.StandsIn = x.req, !x.ownHost && !x.atOtherHost()
	seen.Cut = x.Response.End != "" && x.Response.End != "eof" || s.wasInterrupted(x)
	return rules.JudgeReply(seen)
}

// wasInterrupted reports whether a reply that was cut seems to be the user's doing: the
// format of the recording cannot mark a cut, and the conversation goes on without
// the reply.
func (s *Trace) wasInterrupted(x *exchange) bool {
	if x.Response.End != "" || x.reply.End != wire.Cut && len(bytes.TrimSpace(x.Response.Body)) > 0 {
		return false
	}
	n := len(x.req.Msgs)
	for _, later := range s.x[x.n+1:] {
		if later.Provider != x.Provider || n == 0 || !later.asksForAnswer() || !startsWithMessages(later, x, n) {
			continue
		}
		return n == len(later.req.Msgs) || later.req.Msgs[n].Role != "assistant"
	}
	return false
}

// judgeRequest runs the rules of the wire that need nothing but the request.
func (s *Trace) judgeRequest(x *exchange) map[string][]*rules.Pass {
	book := rules.Books()[x.Provider]
	if book == nil || x.req.Op != wire.Generate {
		return nil
	}
	seen := x.seen
	seen.Model, seen.Takes, seen.Paused, seen.Plain = x.modelAsked(), x.can, x.goesOnPaused(), map[int]bool{}
	seen.IsKept = x.isKeptByProvider()
	seen.WasIssued = func(name string) bool { return s.wasIssued(name, x) }
	seen.IsShown = func(header string) bool {
		client := x.Request.Header.Get("User-Agent")
		return client != "" && slices.ContainsFunc(s.x, func(o *exchange) bool {
			return o.Provider == x.Provider && o.Request.Header.Get(header) != "" &&
				o.Request.Header.Get("User-Agent") == client
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
		at := b.At
		if at == (wire.Place{}) {
			at = x.placeOf(b.Path)
		}
		f := r.addBare(x, at, b.Rule, b.Form, b.Args...)
		if !b.QuotesProvider {
			x.quoteRefusal(f, at, cmp.Or(saidOf(b.Refusal), x.bookOf().QuoteOf(b.Rule)), b.IsShared)
		}
		f.Consequence, f.Form = specs.Consequence(b.Consequence), cmp.Or(b.Cause, b.Form)
	}
}

// saidOf is what a refusal says, of a long one the first sentence: the place stands in it.
func saidOf(r *rules.Refusal) string {
	if r == nil {
		return ""
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(r.Message, "* "), "\n")
	if sentence, _, _ := strings.Cut(text, ". "); len(text) > 200 && len(sentence) < len(text) {
		text = sentence + "."
	}
	return cutText(text, 200)
}

// placeOf finds where a path leads in the request; members that are absent count as
// standing where the last one that is there does.
func (x *exchange) placeOf(path string) wire.Place {
	at, n := wire.Place{Event: -1, Off: 0, Path: path}, x.req.Doc
	for _, step := range tree.Steps(path) {
		if n = n.Child(step); n == nil {
			return at
		}
		at.Off = n.Offset()
	}
	return at
}
