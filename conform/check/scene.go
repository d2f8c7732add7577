package check

import (
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
