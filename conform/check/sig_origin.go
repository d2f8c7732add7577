package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// originRules judge where tokens go (R3, R17, R24).
var originRules = map[string]rule{
	"SIG-018/own-provider": ownProvider,
	"SIG-019/own-model":    ownModel,
}

// issue is where a provider issued a token.
type issue struct {
	x  *exchange
	it *wire.Item
}

// findIssues notes for each token where it was issued first, whatever the provider.
func (s *Trace) findIssues() {
	s.issued = map[string]issue{}
	for _, x := range s.x {
		for it := range wire.Each(x.reply.Items) {
			keys := []string{compactionKey(it)}
			for _, t := range tokensOf(it) {
				keys = append(keys, originKey(t))
			}
			for _, k := range keys {
				if k != "" && s.issued[k].x == nil {
					s.issued[k] = issue{x, it}
				}
			}
		}
	}
}

// describeToken says what x sends in the place of a token: one issued elsewhere, with
// that place, or a changed one.
func (s *Trace) describeToken(x *exchange, was, is string) difference {
	d := describeDifference(was, is)
	if from, ok := s.issued[originKey(is)]; ok && s.holds(originIsNamed) && is != "" && from.x.n < x.n && originKey(is) != originKey(was) {
		d.sentence = fmt.Sprintf("is %s, in place of %s", from.describe(is), maskToken(was))
	}
	return d
}

func (i issue) describe(token string) string {
	return fmt.Sprintf("%s, issued with the %s that was %s", maskToken(token), i.it.What, emittedAt(i.x, i.it.Place))
}

// isOfOtherConversation reports whether the item is, as it was issued, one of another conversation.
func (s *Trace) isOfOtherConversation(x *exchange, it *wire.Item) bool {
	from, ok := s.issued[originKey(it.Token)]
	return ok && it.Token != "" && from.x.Provider == x.Provider && from.x.conversation >= 0 && !x.ownConversations()[from.x.conversation] &&
		from.it.What == it.What && from.it.Text == it.Text && slices.Equal(from.it.Summary, it.Summary)
}

// inventedTokens adds a finding for each token that stands among what is sent back of
// a reply and that the reply did not issue.
func (s *Trace) inventedTokens(r *report, of wires.Habit, rule string, isCarrier func(it *wire.Item) bool) {
	for _, l := range s.links {
		for _, q := range l.extra {
			it := l.sent(q)
			if !l.to.wire.Has(of) || it.Token == "" || !isCarrier(it) || !l.sharesMessage(it) {
				continue
			}
			r.addObserved(1)
			if from, ok := s.issued[originKey(it.Token)]; ok {
				r.addFinding(l.to, it.Place, rule, "%s stands among what exchange %d emitted and carries %s", it.What, l.from.Index, from.describe(it.Token))
				continue
			}
			r.addFinding(l.to, it.Place, rule, "%s block %s was not emitted by the reply it stands in (exchange %d)", it.What, maskToken(it.Token), l.from.Index)
		}
	}
}

// sharesMessage reports whether the item stands in one message with what was sent
// back of the reply, or between two items of it: messages before it may be history
// of another recording.
func (l *link) sharesMessage(it *wire.Item) bool {
	return slices.ContainsFunc(l.pairs, func(p pair) bool {
		return l.sent(p.q).Msg == it.Msg || l.to.wire.Has(wires.ItemList) && l.to.runOf(p.q) == l.to.runOf(l.ordinalOf(it))
	})
}

func (l *link) ordinalOf(it *wire.Item) int {
	return l.items[slices.IndexFunc(l.items, func(q int) bool { return l.sent(q) == it })]
}

// originKey recognises a token also where another base64 alphabet writes it. What a
// recorder put in the place of a token repeats and says nothing: "".
func originKey(token string) string {
	if strings.Contains(token, "REDACTED") {
		return ""
	}
	return looseKey(token)
}

// looseKey brings a token of any wire to the form in which its provider compares it.
func looseKey(token string) string {
	for _, w := range wires.All() {
		token = wire.TokenKey(w.Name, token)
	}
	return token
}

// eachToken calls f for every token of a request that an earlier reply issued.
func (s *Trace) eachToken(f func(x *exchange, it *wire.Item, from *exchange)) {
	s.eachRequest(func(x *exchange) {
		for it := range wire.Each(x.req.Items) {
			if origin := s.issued[originKey(it.Token)].x; it.Token != "" && origin != nil && origin.Index < x.Index {
				f(x, it, origin)
			}
		}
	})
}

func ownProvider(s *Trace, r *report) {
	s.eachToken(func(x *exchange, it *wire.Item, from *exchange) {
		r.addObserved(1)
		if x.Provider != from.Provider {
			r.addFinding(x, it.Place, x.wire.RuleFor(wires.ForeignToken), "%s carries the token %s, which %s issued in exchange %d", it.Type, maskToken(it.Token), from.Provider, from.Index)
		}
	})
}

// ownModel: which models read each other's tokens is the provider's secret, so
// another model of the same provider is a warning. What one model issued is one finding,
// which names every model that was sent it.
func ownModel(s *Trace, r *report) {
	type carried struct {
		x      *exchange
		it     *wire.Item
		issuer string
	}
	var all []carried
	receivers := map[string][]string{} // by issuer
	s.eachToken(func(x *exchange, it *wire.Item, from *exchange) {
		if x.Provider != from.Provider || x.req.Model == "" || from.req.Model == "" {
			return
		}
		r.addObserved(1)
		issuer, receiver := specs.ParseModel(from.req.Model).Bare, specs.ParseModel(x.req.Model).Bare
		if issuer == receiver {
			return
		}
		issuer += " at " + from.host()
		all = append(all, carried{x, it, issuer})
		if receiver += " at " + x.host(); !slices.Contains(receivers[issuer], receiver) {
			receivers[issuer] = append(receivers[issuer], receiver)
		}
	})
	for _, c := range all {
		f := r.addFinding(c.x, c.it.Place, c.x.wire.RuleFor(wires.ForeignToken), "%s carries the token %s of model %s to model %s",
			c.it.Type, maskToken(c.it.Token), c.issuer, strings.Join(receivers[c.issuer], " and "))
		f.Form += c.issuer
	}
}
