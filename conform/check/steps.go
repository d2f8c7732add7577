package check

import (
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// step is a run of model items and the client's items up to the next run.
type step struct {
	run, answer span
}

// turnSteps divides the request's items after its opening.
func (x *exchange) turnSteps() []step {
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

// itemsOfKind returns the items of kind w in a span of the request.
func (x *exchange) itemsOfKind(in span, w wire.What) []*wire.Item {
	var list []*wire.Item
	for i := in.from; i < in.to; i++ {
		if it := &x.req.Items[i]; it.What == w {
			list = append(list, it)
		}
	}
	return list
}

// eachRequest calls f for every request that asks for an answer, and for those that warm
// a WebSocket up for one.
func (s *Trace) eachRequest(f func(x *exchange)) {
	for _, x := range s.x {
		if x.asksForAnswer() || x.isWarmUp() {
			f(x)
		}
	}
}

// eachStep calls f for every step of every request.
func (s *Trace) eachStep(f func(x *exchange, st step)) {
	s.eachRequest(func(x *exchange) {
		for _, st := range x.turnSteps() {
			f(x, st)
		}
	})
}

// eachPair calls f for every item of kind w that was sent back for one of the
// same kind, whole: a reference to a stored item has nothing to compare, and of what came from
// another conversation OPS-001 speaks.
func (s *Trace) eachPair(of wires.Habit, w wire.What, f func(l *link, p pair, r, q *wire.Item)) {
	for _, l := range s.links {
		if of != "" && !l.to.wire.Has(of) {
			continue
		}
		for _, p := range l.pairs {
			if r, q := l.reply(p.r), l.sent(p.q); r.What == w && q.Type != referenceType && (p.exact || !s.isOfOtherConversation(l.to, q)) {
				f(l, p, r, q)
			}
		}
	}
}
