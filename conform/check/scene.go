package check

import (
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// scene is evidence decoded once for all checks: the exchanges in order, and
// which request sends back which reply.
type scene struct {
	ev *evidence.Evidence
	x  []*exchange
	// links are ordered by request, then by place in it.
	links []*link
}

// exchange is one exchange with both sides decoded.
type exchange struct {
	*evidence.Exchange
	n     int // ordinal in the scene
	req   *wire.Request
	reply *wire.Reply
	// runs are the stretches of model items in the request, each between two
	// stretches of the client's own items.
	runs []span
	// turn is the ordinal of the first item of the current turn: what stands
	// after the last thing the user, and not a tool, said. Providers check the
	// hidden state of that turn and are lenient before it (A-37, G-17).
	turn int
	// replays are the links whose request this is, sentBack those whose reply.
	replays, sentBack []*link
}

// span is the half-open range [from, to) of items.
type span struct{ from, to int }

// looked keeps the scene of the evidence judged last: the checks come one after
// the other for one case, and decoding it costs more than all of them.
var looked struct {
	sync.Mutex
	print []any
	scene *scene
}

// look decodes ev, or returns the scene if ev is the evidence judged last.
func look(ev *evidence.Evidence) *scene {
	print := fingerprint(ev)
	looked.Lock()
	defer looked.Unlock()
	if looked.scene == nil || !slices.Equal(looked.print, print) {
		looked.print, looked.scene = print, newScene(ev)
	}
	return looked.scene
}

// fingerprint tells evidence apart by the places of its bytes, which are never
// written to once evidence is built.
func fingerprint(ev *evidence.Evidence) []any {
	print := []any{ev, ev.Source, ev.Case, len(ev.Process)}
	for i := range ev.Exchanges {
		e := &ev.Exchanges[i]
		print = append(print, e.Index, e.Provider, e.Request.Method, e.Request.URL, address(e.Request.Body), len(e.Request.Body),
			e.Response.Status, address(e.Response.Body), len(e.Response.Body), e.Response.End, e.Process, e.Missed)
	}
	return print
}

func address(b []byte) *byte {
	if len(b) == 0 {
		return nil
	}
	return &b[0]
}

// newScene decodes ev.
func newScene(ev *evidence.Evidence) *scene {
	s := &scene{ev: ev}
	for i := range ev.Exchanges {
		s.x = append(s.x, lookAt(&ev.Exchanges[i]))
		s.x[i].n = i
	}
	newLinker(s).run()
	return s
}

func lookAt(e *evidence.Exchange) *exchange {
	x := &exchange{Exchange: e}
	x.req = wire.ReadRequest(e.Provider, e.Request.Method, e.Request.URL, e.Request.Body)
	x.reply = wire.ReadReply(e.Provider, e.Response.Status, e.Response.Body)
	x.runs = modelRuns(x.req.Items)
	x.turn = turnStart(e.Provider, x.req)
	return x
}

// asks reports whether the exchange is a request to answer a conversation that
// can be read.
func (x *exchange) asks() bool { return x.req.Op == wire.Generate && x.req.Doc != nil }

func modelRuns(items []wire.Item) []span {
	var runs []span
	for i := range items {
		if !items[i].Model() {
			continue
		}
		if k := len(runs) - 1; k >= 0 && runs[k].to == i {
			runs[k].to++
			continue
		}
		runs = append(runs, span{i, i + 1})
	}
	return runs
}

// turnStart returns the ordinal of the first item after the last user prompt.
// On Anthropic a message that also answers tools continues the turn; on Gemini
// any part of a user's content that answers no tool starts one (G-17).
func turnStart(provider string, q *wire.Request) int {
	start := 0
	for i := range q.Items {
		it := &q.Items[i]
		if it.Model() || it.What == wire.Result {
			continue
		}
		if provider == evidence.Anthropic && answersTools(q.Items, it.Msg, i) {
			continue
		}
		start = i + 1
	}
	return start
}

// answersTools reports whether the message msg, which holds item i, holds a
// tool result as well.
func answersTools(items []wire.Item, msg, i int) bool {
	for k := i; k >= 0 && items[k].Msg == msg; k-- {
		if items[k].What == wire.Result {
			return true
		}
	}
	for k := i; k < len(items) && items[k].Msg == msg; k++ {
		if items[k].What == wire.Result {
			return true
		}
	}
	return false
}

// step is a run of model items and the client's items up to the next run.
type step struct {
	run, answer span
}

// steps divides the request's items after its opening.
func (x *exchange) steps() []step {
	var list []step
	for i, run := range x.runs {
		end := len(x.req.Items)
		if i+1 < len(x.runs) {
			end = x.runs[i+1].from
		}
		list = append(list, step{run, span{run.to, end}})
	}
	return list
}

// pick returns the items of kind w in a span of the request.
func (x *exchange) pick(in span, w wire.What) []*wire.Item {
	var list []*wire.Item
	for i := in.from; i < in.to; i++ {
		if it := &x.req.Items[i]; it.What == w {
			list = append(list, it)
		}
	}
	return list
}

// eachRequest calls f for every request that asks for an answer.
func (s *scene) eachRequest(f func(x *exchange)) {
	for _, x := range s.x {
		if x.asks() {
			f(x)
		}
	}
}

// eachStep calls f for every step of every request.
func (s *scene) eachStep(f func(x *exchange, st step)) {
	s.eachRequest(func(x *exchange) {
		for _, st := range x.steps() {
			f(x, st)
		}
	})
}

// eachPair calls f for every item of kind w that was sent back for one of the
// same kind.
func (s *scene) eachPair(provider string, w wire.What, f func(l *link, p pair, r, q *wire.Item)) {
	for _, l := range s.links {
		if provider != "" && l.to.Provider != provider {
			continue
		}
		for _, p := range l.pairs {
			if r, q := l.reply(p.r), l.sent(p.q); r.What == w {
				f(l, p, r, q)
			}
		}
	}
}
