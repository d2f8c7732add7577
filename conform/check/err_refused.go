package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires"
)

// wasDeclined reports whether the model, or a filter before it, declined the whole request.
func (x *exchange) wasDeclined() bool {
	stops := &x.wire.Stops
	if stops.Filtered != "" {
		return x.reply.Stop == "incomplete" && x.incompleteReason() == stops.Filtered
	}
	return slices.Contains(stops.Declined, x.reply.Stop)
}

// incompleteReason says why a response of OpenAI is incomplete.
func (x *exchange) incompleteReason() string {
	doc := x.reply.Doc
	for _, e := range x.reply.Events {
		if response := e.JSON.Get("response"); response != nil {
			doc = response
		}
	}
	return doc.Text("incomplete_details", "reason")
}

// declinedTurnLeft: Anthropic goes on declining as long as the turn that it declined is in
// the conversation.
func declinedTurnLeft(s *Trace, r *report) {
	for _, x := range s.x {
		if !x.wire.Has(wires.KeepsDeclining) || !x.wasDeclined() {
			continue
		}
		for _, later := range s.x[x.n+1:] {
			if later.asksForAnswer() && later.Provider == x.Provider && later.Process == x.Process && !later.kind.isSide() {
				r.addObserved(1)
				break
			}
		}
		for _, l := range x.sentBack {
			r.addFinding(l.to, l.sent(l.items[0]).Place, "R31", "the reply of exchange %d ended with refusal, and its turn is still in the conversation: the next one is declined for the same reason", x.Index)
			break
		}
	}
}

// declinedNotRepeated: what was declined is not asked again word by word.
func declinedNotRepeated(s *Trace, r *report) {
	s.eachReaction((*exchange).wasDeclined, func(x, later *exchange, isRepeated bool) {
		r.addObserved(1)
		if isRepeated {
			r.addFinding(later, placeOfRefusal(later), "R31", "the request is, byte for byte, the one of exchange %d that was declined (%s)", x.Index, x.reply.Stop)
		}
	})
}
