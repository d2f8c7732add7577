package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// continuationRules judge requests of OpenAI that go on with a response, by HTTP and over
// WebSockets (R49).
var continuationRules = map[string]rule{
	"WSK-001/own-response": socketGoesOnWithOwn,
	"WSK-002/increment":    onlyIncrementIsSent,
	"WSK-003/whole-input":  socketBeginsWhole,
	"WSK-004/not-found":    lostResponseNotNamed,
	"PAR-012/stored":       previousStored,
}

// sockets remembers for each WebSocket the responses that it can go on with: the last one
// of each of its streams.
type sockets map[int]map[string]string

func (s sockets) knows(x *exchange, id string) bool {
	for _, last := range s[x.WebSocket] {
		if last == id {
			return true
		}
	}
	return false
}

// remember enters what became of x: a failed message forgets what it went on with.
func (s sockets) remember(x *exchange, previous string) {
	streams := s[x.WebSocket]
	if streams == nil {
		streams = map[string]string{}
		s[x.WebSocket] = streams
	}
	if x.Response.Status >= 400 {
		for stream, last := range streams {
			if last == previous {
				delete(streams, stream)
			}
		}
	}
	if x.reply.ID != "" {
		streams[x.req.Doc.Text("stream_id")] = x.reply.ID
	}
}

// previousResponse is the id of the response that a request of OpenAI goes on with, "" for
// none that can be read.
func (x *exchange) previousResponse() string {
	previous, _ := x.member("previous_response_id")
	if !x.wire.Has(wires.StoresReplies) || strings.Contains(previous.Text(), "REDACTED") {
		return ""
	}
	return previous.Text()
}

// eachContinuation calls f for every request of OpenAI, with the recorded exchange that
// gave the response it goes on with, nil for none.
func (s *Trace) eachContinuation(f func(x, from *exchange, id string, at wire.Place)) {
	s.eachRequest(func(x *exchange) {
		if x.wire.Has(wires.StoresReplies) {
			_, at := x.member("previous_response_id")
			f(x, x.base, x.previousResponse(), at)
		}
	})
}

// isHeld reports whether the provider should still know the response that x goes on with,
// which from gave: it was stored, or it is the last one of the same WebSocket.
func (s sockets) isHeld(x, from *exchange, id string) bool {
	return !from.req.Doc.False("store") || x.WebSocket != 0 && s.knows(x, id)
}

// lostByProvider finds the requests that were refused because the provider had lost a
// response that it should have known. Nothing is wrong with them; what the agent does then
// is judged by WSK-003 and WSK-004.
func (s *Trace) lostByProvider() map[*exchange]bool {
	known, lost := sockets{}, map[*exchange]bool{}
	s.eachContinuation(func(x, from *exchange, id string, _ wire.Place) {
		if from != nil && x.reply.End == wire.Refused && isNotFound(x) && known.isHeld(x, from, id) {
			lost[x] = true
		}
		if x.WebSocket != 0 {
			known.remember(x, id)
		}
	})
	return lost
}

// socketGoesOnWithOwn: a WebSocket knows its own last responses, and what was stored
// (O-25).
func socketGoesOnWithOwn(s *Trace, r *report) {
	known := sockets{}
	s.eachContinuation(func(x, from *exchange, id string, at wire.Place) {
		if x.WebSocket == 0 {
			return
		}
		if from != nil {
			r.addObserved(1)
			if !known.isHeld(x, from, id) {
				why := "its WebSocket knows it no longer, which remembers its last response only"
				if x.WebSocket != from.WebSocket {
					why = "only the WebSocket that it came by knows it, and this is another; send the whole input there"
				}
				r.addFinding(x, at, "O-25", "the response of exchange %d was made with store false, and %s",
					from.Index, why)
			}
		}
		known.remember(x, id)
	})
}

// previousStored: only what was stored can be gone on with by HTTP (O-25).
func previousStored(s *Trace, r *report) {
	s.eachContinuation(func(x, from *exchange, _ string, at wire.Place) {
		if from == nil || x.WebSocket != 0 {
			return
		}
		r.addObserved(1)
		if from.req.Doc.False("store") {
			r.addFinding(x, at, "O-25",
				"the response of exchange %d was made with store false, so that nothing can go on with it", from.Index)
		}
	})
}

// onlyIncrementIsSent: what the provider holds is not sent again beside the id under which
// it holds it. One equal text at the beginning may be a coincidence, two items in a row are not.
func onlyIncrementIsSent(s *Trace, r *report) {
	s.eachContinuation(func(x, from *exchange, _ string, _ wire.Place) {
		if from == nil || len(x.req.Items) == 0 {
			return
		}
		r.addObserved(1)
		held := from.heldItems()
		for it := range wire.Each(x.req.Items) {
			for _, old := range held {
				if it.ItemID != "" && it.ItemID == old.ItemID {
					r.addFinding(x, it.Place, "O-9",
						"%s %s is sent beside previous_response_id, which holds it already (exchange %d)", it.What,
						it.ItemID, from.Index)
					return
				}
				if it.What == wire.Call && it.ID != "" && old.What == wire.Call && it.ID == old.ID {
					r.addFinding(x, it.Place, "R49",
						"tool call %s is sent beside previous_response_id, which holds it already (exchange %d): the model reads it twice, and it may run twice", it.Label(), from.Index).Consequence = specs.Degraded
					return
				}
			}
		}
		if n := equalOpening(x.req.Items, held); n > 1 {
			r.addFinding(x, x.req.Items[0].Place, "R49",
				"the input begins with %d items that the response of exchange %d holds already: the conversation is sent beside previous_response_id and stands there twice", n, from.Index).Consequence = specs.Degraded
		}
	})
}

// heldItems lists what the provider holds under the response of x: the inputs and replies
// of the chain that leads to it, the oldest first. Under none it holds nothing.
func (x *exchange) heldItems() (held []*wire.Item) {
	for step := 0; x != nil && step < maxSources; step++ {
		var own []*wire.Item
		for i := range x.req.Items {
			own = append(own, &x.req.Items[i])
		}
		for i := range x.reply.Items {
			own = append(own, &x.reply.Items[i])
		}
		held = append(own, held...)
		x = x.base
	}
	return held
}

// equalOpening counts the items at the beginning of items that are those of held.
func equalOpening(items []wire.Item, held []*wire.Item) (n int) {
	for n < len(items) && n < len(held) && items[n].What == held[n].What && items[n].Role == held[n].Role &&
		items[n].Text == held[n].Text && items[n].ID == held[n].ID {
		n++
	}
	return n
}

// socketBeginsWhole: a message that goes on with nothing brings its whole conversation:
// the provider has forgotten what another WebSocket said.
func socketBeginsWhole(s *Trace, r *report) {
	var lost *exchange // the latest increment whose base was not found
	s.eachContinuation(func(x, _ *exchange, id string, _ wire.Place) {
		if x.WebSocket == 0 || len(x.req.Items) == 0 {
			return
		}
		results := itemsOf(x, wire.Result)
		switch {
		case x.req.Stateful:
		case lost != nil && tree.Equal(lost.req.Doc.Get("input"), x.req.Doc.Get("input")):
			r.addObserved(1)
			r.addFinding(x, x.req.Items[0].Place, "R49",
				"the message repeats the increment of exchange %d, whose base was not found, and goes on with nothing: the conversation before it is lost", lost.Index).Consequence = specs.Unsafe
		case lost != nil || len(results) > 0:
			r.addObserved(1)
			r.reportIncrement(x, results)
		}
		if id != "" && x.reply.End == wire.Refused && isNotFound(x) {
			lost = x
		} else if !x.req.Stateful {
			lost = nil
		}
	})
}

// reportIncrement adds a finding for an output without its call.
func (r *report) reportIncrement(x *exchange, results []*wire.Item) {
	calls := itemsOf(x, wire.Call)
	for _, res := range results {
		isAnswer := slices.ContainsFunc(calls, func(call *wire.Item) bool { return res.Answers(call) })
		if !isAnswer && !x.answersSearch(res) {
			r.addFinding(x, res.Place, "O-11",
				"the message goes on with no response and holds the output of call %s without the call: it is an increment, and this WebSocket (%d) knows nothing to add it to", res.ID, x.WebSocket)
			return
		}
	}
}

// answersSearch reports whether the result res belongs to a call of a tool search, which
// is not a function call.
func (x *exchange) answersSearch(res *wire.Item) bool {
	for it := range wire.Each(x.req.Items) {
		if it.What == wire.Opaque && it.ID != "" && it.ID == res.ID {
			return true
		}
	}
	return false
}

// lostResponseNotNamed: a response that was not found will not be found later.
func lostResponseNotNamed(s *Trace, r *report) {
	lost := map[string]*exchange{}
	s.eachContinuation(func(x, _ *exchange, id string, at wire.Place) {
		if len(lost) > 0 {
			r.addObserved(1)
		}
		if refused := lost[id]; refused != nil && !x.wasAccepted() {
			r.addFinding(x, at, "O-25",
				"the request names %s again, which was not found in exchange %d; send the whole input without it", id,
				refused.Index)
		}
		if id != "" && x.reply.End == wire.Refused && isNotFound(x) {
			lost[id] = x
		}
	})
}

func isNotFound(x *exchange) bool {
	return x.reply.Err.Text("code") == "previous_response_not_found" ||
		x.reply.Err.Text("param") == "previous_response_id" && strings.Contains(x.refusal.Words, "not found")
}
