package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// geminiRules judge thought signatures (reference §5.3, R22–R24).
var geminiRules = map[string]rule{
	"SIG-015/signature-bytes": thoughtBytes,
	"SIG-016/same-part":       samePart,
	"SIG-017/signed-parts":    signedParts,
}

// isDummy reports whether a token switches the validation off, which is
// accepted on calls (G-20), as it stands or encoded like any other.
func isDummy(token string) bool {
	for _, t := range []string{token, looseKey(token)} {
		if t == "skip_thought_signature_validator" || t == "context_engineering_is_the_way_to_go" {
			return true
		}
	}
	return false
}

// isFirstCall reports whether item i of the request is the first call of its content.
func (x *exchange) isFirstCall(i int) bool {
	it := &x.req.Items[i]
	for k := i - 1; k >= 0 && x.req.Items[k].Msg == it.Msg; k-- {
		if x.req.Items[k].What == wire.Call {
			return false
		}
	}
	return it.What == wire.Call
}

func enforcesSignatures(model string) bool {
	m := specs.ParseModel(model)
	return m.Family == "gemini" && !m.IsBefore(3, 0) && !strings.Contains(model, "image")
}

// thoughtBytes: a token that stands beside what the model said keeps its bytes; where it is base64, its alphabet
// does not count. Reasoning keeps its token, and the text under a signature.
func thoughtBytes(s *Trace, r *report) {
	for _, l := range s.links {
		rule := l.to.wire.RuleFor(wires.ChangedToken)
		if rule == "" {
			continue
		}
		for _, p := range l.pairs {
			was, is := l.reply(p.r), l.sent(p.q)
			isReasoning := was.Continuity() && !l.to.wire.Has(wires.SignedParts)
			if was.Token == "" || is.Token == "" && !isReasoning || isDummy(is.Token) {
				continue
			}
			rule := rule
			if !isReasoning {
				rule = cmp.Or(l.to.wire.RuleFor(wires.ChangedCallToken), rule)
			}
			r.addObserved(1)
			switch {
			case is.Token == "":
				r.addChange(l, is.Place, was.TokenAt, rule, "%s is sent back without the token that it was issued with",
					is.What).Consequence = specs.Degraded
				continue
			case isReasoning && is.Node.Get("signature") != nil && was.Text != is.Text &&
				!isMaskedByRecorder(was.Text, is.Text):
				r.addChange(l, is.Place, was.Place, rule, "text under a signature %s",
					describeTextDifference(was.Text, is.Text))
			}
			a, b := wire.TokenKey(l.to.Provider, was.Token), wire.TokenKey(l.to.Provider, is.Token)
			if a != b && !issuedBy(l.from, b) {
				at := is.Place
				if l.to.wire.Has(wires.SignedParts) {
					at = is.Under("thoughtSignature")
				}
				r.addChange(l, at, was.TokenAt, rule, "signature of %s %s", is.What,
					s.describeToken(l.to, was.Token, is.Token))
			}
		}
	}
}

func issuedBy(x *exchange, key string) bool {
	for i := range x.reply.Items {
		if t := x.reply.Items[i].Token; t != "" && wire.TokenKey(x.Provider, t) == key {
			return true
		}
	}
	return false
}

// samePart: the signature of a call returns on that call. On another part it
// proves nothing to the provider (G-21).
func samePart(s *Trace, r *report) {
	for _, l := range s.links {
		if !l.to.wire.Has(wires.SignedParts) {
			continue
		}
		home := map[string]int{} // signature to the call it was issued on
		for i := range l.from.reply.Items {
			if it := l.reply(i); it.What == wire.Call && it.Token != "" {
				home[looseKey(it.Token)] = i
			}
		}
		if len(home) > 0 {
			l.reportStraySignatures(r, home)
		}
	}
}

// reportStraySignatures looks for signatures of calls on other parts, from the reply's first
// item sent back to the end of the results that answer it.
func (l *link) reportStraySignatures(r *report, home map[string]int) {
	paired := map[int]int{}
	for _, p := range l.pairs {
		paired[p.q] = p.r
	}
	for q := l.items[0]; q < len(l.to.req.Items); q++ {
		it := l.sent(q)
		if it.Model() && q > l.items[len(l.items)-1] {
			return
		}
		i, issued := home[looseKey(it.Token)]
		if it.Token == "" || !issued {
			continue
		}
		r.addObserved(1)
		of, ok := paired[q]
		switch {
		case ok && of == i:
		case it.What == wire.Result && l.isSentSigned(i): // once more on the response does no harm
		case it.What == wire.Call && it.ID != "" && it.ID == l.reply(i).ID: // the call itself once more
		case ok && it.What == wire.Call && l.reply(of).Token == "" && l.isSentSigned(i):
			// Libraries that split parallel calls do this, and the API takes it.
			r.addChange(l, it.Under("thoughtSignature"), l.reply(i).Place, "",
				"signature of function call %s is copied to another call of the reply, %s, which came without one",
				l.reply(i).Label(), l.reply(of).Label()).Consequence = specs.Degraded
		case it.What == wire.Call:
			r.addChange(l, it.Under("thoughtSignature"), l.reply(i).Place, "",
				"signature of function call %s is sent on another call, %s", l.reply(i).Label(), it.Label())
		default:
			r.addChange(l, it.Under("thoughtSignature"), l.reply(i).Place, "G-21",
				"signature of function call %s is sent on a %s", l.reply(i).Label(), it.Type)
		}
	}
}

// isSentSigned reports whether reply item i was sent back with a signature.
func (l *link) isSentSigned(i int) bool {
	it := l.sentFor(i)
	return it != nil && it.Token != ""
}

// signedParts: every other signature returns as well, on a part with the same
// content, even when that content is empty (D-21, R23).
func signedParts(s *Trace, r *report) {
	for _, l := range s.links {
		if !l.to.wire.Has(wires.SignedParts) || l.isForOtherModel() || s.hasRefusedSignatures(l.to) {
			continue
		}
		for i := range l.from.reply.Items {
			if it := l.reply(i); it.Token != "" && it.What != wire.Call && l.sentFor(i) == nil {
				r.addObserved(1)
				l.reportUnsent(r, i)
			}
		}
		for _, p := range l.pairs {
			l.signedPair(r, p)
		}
	}
}

// isForOtherModel reports whether the reply is sent to another model than its own: what
// one model keeps for itself may be left out then.
func (l *link) isForOtherModel() bool {
	return specs.ParseModel(l.from.modelAsked()).Bare != specs.ParseModel(l.to.modelAsked()).Bare
}

// hasRefusedSignatures reports whether the provider refused a signature of the
// conversation before: it goes on without them.
func (s *Trace) hasRefusedSignatures(later *exchange) bool {
	return slices.ContainsFunc(s.x[:later.n], func(x *exchange) bool {
		return x.Provider == later.Provider && x.refusal.Rule == "G-18" && startsWithMessages(later, x, 1)
	})
}

// reportUnsent reports a signed part that was not sent back, or whose signature was
// put on another one.
func (l *link) reportUnsent(r *report, i int) {
	was := l.reply(i)
	for _, q := range l.items {
		if is := l.sent(q); is.Token != "" &&
			wire.TokenKey(l.to.Provider, is.Token) == wire.TokenKey(l.to.Provider, was.Token) {
			l.reportMisplaced(r, was, is)
			return
		}
	}
	if was.What == wire.Opaque {
		r.addLostItem(l, i, "", "a signed part of the provider's tool is not sent back")
		return
	}
	r.addLostItem(l, i, "", "signed %s part of %d bytes is not sent back", was.What, len(was.Text))
}

func (l *link) reportMisplaced(r *report, was, is *wire.Item) {
	r.addChange(l, is.Place, was.Place, "", "signature was issued on a %s part of %d bytes and is sent on one of %d",
		was.What, len(was.Text), len(is.Text))
}

func (l *link) signedPair(r *report, p pair) {
	was, is := l.reply(p.r), l.sent(p.q)
	isFirst, isStandIn := l.to.isFirstCall(p.q), isDummy(is.Token) && !isDummy(was.Token)
	// A signature that the first call of a step in the open turn misses is refused (G-17)
	// and reported as that. Where a whole reply came without one, stand-ins are the only way.
	isRefused := isFirst && p.q >= l.to.turn && enforcesSignatures(l.to.req.Model)
	hasToken := func(it wire.Item) bool { return it.Token != "" }
	isNeeded := was.Token == "" && (isFirst || !slices.ContainsFunc(l.from.reply.Items, hasToken))
	if isStandIn && isNeeded || !isStandIn && (was.Token == "" || isRefused) {
		return
	}
	r.addObserved(1)
	switch {
	case isStandIn && was.Token == "":
		r.addChange(l, is.Under("thoughtSignature"), was.Place, "G-20",
			"%s part, which came without a signature beside a signed one, is sent back with the stand-in that skips validation", was.What)
	case isStandIn:
		r.addChange(l, is.Under("thoughtSignature"), was.TokenAt, "G-20",
			"%s part is sent back with the stand-in that skips validation in place of its signature %s", was.What,
			rules.Mask(was.Token))
	case is.Token == "":
		r.addChange(l, is.Place, was.Place, "", "%s part is sent back without its signature %s", was.What,
			rules.Mask(was.Token))
	case was.Text != is.Text:
		l.reportMisplaced(r, was, is)
	}
}
