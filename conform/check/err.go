package check

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// errorRules judge what providers refuse, and what comes back in the place of a
// reply.
var errorRules = map[string]rule{
	"ERR-001/form":         formRefused,
	"ERR-002/same-bytes":   sameBytesAgain,
	"ERR-002/same-words":   sameWordsAgain,
	"ERR-004/turn-left":    declinedTurnLeft,
	"ERR-005/not-repeated": declinedNotRepeated,
	"MED-004/left-out":     refusedMediaLeftOut,
}

// formRefused: the provider takes the form of every request. Its own words say what is
// wrong, whether or not another check knows the rule.
func formRefused(s *Trace, r *report) {
	lost := s.lostByProvider()
	for _, x := range s.x {
		if x.Missed || x.isInjected() || x.reply.End == wire.Absent {
			continue
		}
		r.addObserved(1)
		if x.reply.End != wire.Refused || x.refusal.Kind != RefusedForm || lost[x] {
			continue
		}
		words, rule := cmp.Or(x.refusal.Words, "(no words)"), ""
		if x.refusal.Rule != "" {
			rule = "; rule " + x.refusal.Rule
		}
		r.addBare(x, placeOfRefusal(x), x.refusal.Rule, "%s refused the request for its form (%d): %s%s",
			x.serverName(), x.Response.Status, words, rule).
			Form = words // other words are another cause
	}
}

// eachAfterRefusal calls f for every request and each earlier one for the same operation of
// its provider that was refused for its form: to answer, compact, count or store. The reaction
// is the agent's own, so that refusals count which were injected.
func (s *Trace) eachAfterRefusal(f func(refused, later *exchange)) {
	refused := map[string][]*exchange{}
	for _, x := range s.x {
		operation := x.Provider
		if x.req.Op != wire.Generate {
			operation += " " + x.Request.Method + " " + x.Request.URL
		}
		if x.Request.Body == nil || x.req.Op != wire.Generate && len(x.Request.Body) == 0 {
			continue
		}
		for _, old := range refused[operation] {
			f(old, x)
		}
		if x.reply.End == wire.Refused && !x.Missed && x.refusal.Kind == RefusedForm {
			refused[operation] = addRecent(refused[operation], x)
		}
	}
}

// sameBytesAgain: what was refused for its form is not sent again unchanged. A request
// that was then accepted was right, and the refusal was not about it.
func sameBytesAgain(s *Trace, r *report) {
	reported := map[*exchange]bool{}
	s.eachAfterRefusal(func(refused, later *exchange) {
		r.addObserved(1)
		asked := refused.Response.Header.Get("X-Should-Retry") == "true"
		if asked || reported[later] || later.wasAccepted() || !isRepetition(refused, later) ||
			!hasSameBetas(refused, later) {
			return
		}
		reported[later] = true
		r.addBare(later, placeOfRefusal(refused), refused.refusal.Rule,
			"the request is, byte for byte, the one of exchange %d that was refused for its form: %s", refused.Index,
			refused.refusal.Words)
	})
}

func isSameRequest(a, b *exchange) bool {
	return a.Request.URL == b.Request.URL && bytes.Equal(a.Request.Body, b.Request.Body)
}

// hasSameBetas reports whether two requests ask for the same version and betas. A client
// that talks to a gateway may try again without a beta that the gateway may not know.
func hasSameBetas(a, b *exchange) bool {
	for _, name := range []string{"Anthropic-Beta", "Anthropic-Version", "Openai-Beta"} {
		if !slices.Equal(a.Request.Header.Values(name), b.Request.Header.Values(name)) {
			return false
		}
	}
	return true
}

// sameWordsAgain: a conversation that goes on after a refusal changes what was refused,
// or every later request fails in the same words. What was refused beside the history, a
// tool or a parameter, is the user's to change, who may start another process with it.
// Before the user can speak, the client may try what else it can leave out.
func sameWordsAgain(s *Trace, r *report) {
	reported := map[*exchange]bool{}
	s.eachAfterRefusal(func(refused, later *exchange) {
		if !continuesRequest(refused, later) || isSameRequest(refused, later) {
			return
		}
		if namesSetting(refused) && (later.Process != refused.Process || hasSameMessages(refused, later)) {
			return
		}
		r.addObserved(1)
		again := later.reply.End == wire.Refused && later.refusal.Words == refused.refusal.Words &&
			later.refusal.Words != ""
		if again && !reported[later] {
			reported[later] = true
			r.addBare(later, placeOfRefusal(later), later.refusal.Rule,
				"the conversation of exchange %d goes on with what was refused there, and is refused in the same words: %s", refused.Index, later.refusal.Words)
		}
	})
}

// namesSetting reports whether the words of a refusal point to a member of the request beside
// the conversation.
func namesSetting(x *exchange) bool {
	if path := placeOfRefusal(x).Path; path != "" {
		return !isInMessages.MatchString(path)
	}
	return slices.Contains(settingRules, x.refusal.Rule)
}

var isInMessages = regexp.MustCompile(`^(messages|input|contents)\b`)

// settingRules are those about settings whose refusals name no member of the request: what a
// model takes of thinking, effort and sampling, and how tools may be chosen.
var settingRules = []string{"A-23", "A-25", "A-26", "A-27", "A-28", "A-29", "A-30", "A-31", "A-32", "A-33", "G-23",
	"G-24", "G-25", "G-27", "G-28", "G-33", "G-34"}

// continuesRequest reports whether later holds the messages of x, of which an agent may
// take back the last if it is not the only one, and asks the same model.
func continuesRequest(x, later *exchange) bool {
	if x.req.Model != later.req.Model || len(later.req.Msgs) == 0 || len(x.req.Msgs) == 0 {
		return false
	}
	if len(x.req.Msgs) == 1 {
		return growsFrom(later.req.Msgs[0], x.req.Msgs[0])
	}
	return startsWithMessages(later, x, len(x.req.Msgs)-1)
}

// hasSameMessages reports whether two requests hold the same conversation.
func hasSameMessages(a, b *exchange) bool {
	return len(a.req.Msgs) == len(b.req.Msgs) && startsWithMessages(a, b, len(a.req.Msgs))
}

// growsFrom reports whether a message is then, or then with parts added at its end: some
// agents put a prompt that was not answered and the next one into one message.
func growsFrom(now, then wire.Msg) bool {
	if tree.Equal(then.Node, now.Node, "cache_control") {
		return true
	}
	was, is := then.Node.Any("content", "parts").List(), now.Node.Any("content", "parts").List()
	return then.Role == now.Role && len(was) > 0 && len(was) <= len(is) &&
		slices.EqualFunc(was, is[:len(was)], func(a, b *tree.Node) bool { return tree.Equal(a, b, "cache_control") })
}

// startsWithMessages reports whether the first n messages of x are those of then.
func startsWithMessages(x, then *exchange, n int) bool {
	if n > len(x.req.Msgs) || n > len(then.req.Msgs) {
		return false
	}
	for i := range n {
		if !tree.Equal(then.req.Msgs[i].Node, x.req.Msgs[i].Node, "cache_control") {
			return false
		}
	}
	return true
}

// refusedMediaLeftOut: the medium that a refusal names does not stand in a later request
// that is refused as well. The very same request again is ERR-002's.
func refusedMediaLeftOut(s *Trace, r *report) {
	reported := map[*exchange]bool{}
	s.eachAfterRefusal(func(refused, later *exchange) {
		named := refused.refusedMedium()
		if named == nil || isSameRequest(refused, later) {
			return
		}
		r.addObserved(1)
		for _, m := range later.req.Media {
			if m.Data == named.Data && !reported[later] && !later.wasAccepted() {
				reported[later] = true
				r.addBare(later, m.Place, refused.refusal.Rule,
					"the %s that exchange %d was refused for at %s is sent again: %s", m.Kind, refused.Index,
					named.Place.Path, refused.refusal.Words)
			}
		}
	})
}

// refusedMedium returns the medium that the words of a refusal point to, nil for none.
func (x *exchange) refusedMedium() *wire.Medium {
	media, path := x.req.Media, placeOfRefusal(x).Path
	i := slices.IndexFunc(media, func(m wire.Medium) bool {
		return path != "" &&
			strings.HasPrefix(path, m.Place.Path)
	})
	if i < 0 && len(media) == 1 && mentionsMedia.MatchString(strings.ToLower(x.refusal.Words)) {
		i = 0
	}
	if i < 0 || media[i].Data == "" {
		return nil
	}
	return &media[i]
}

var mentionsMedia = regexp.MustCompile(`\b(image|images|pdf|media_type|mime|file data|inline_data|base64)\b`)

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
			if later.asksForAnswer() && later.Provider == x.Provider && later.Process == x.Process &&
				!later.kind.isSide() {
				r.addObserved(1)
				break
			}
		}
		for _, l := range x.sentBack {
			r.addFinding(l.to, l.sent(l.items[0]).Place, "R31",
				"the reply of exchange %d ended with refusal, and its turn is still in the conversation: the next one is declined for the same reason", x.Index)
			break
		}
	}
}

// declinedNotRepeated: what was declined is not asked again word by word.
func declinedNotRepeated(s *Trace, r *report) {
	s.eachReaction((*exchange).wasDeclined, func(x, later *exchange, isRepeated bool) {
		r.addObserved(1)
		if isRepeated {
			r.addFinding(later, placeOfRefusal(later), "R31",
				"the request is, byte for byte, the one of exchange %d that was declined (%s)", x.Index, x.reply.Stop)
		}
	})
}
