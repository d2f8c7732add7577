package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// opaqueRules judge what a client carries without understanding it.
var opaqueRules = map[string]rule{
	"SIG-021/encrypted":      encryptedKept,
	"SIG-021/namespace":      namespaceKept,
	"SIG-021/server-results": serverResultsKept,
	"NSP-001/kept":           toolSearchKept,
}

// encryptedNames are the members in which the provider keeps state of its own tools and
// of compaction.
var encryptedNames = []string{"encrypted_content", "encrypted_index", "encrypted_stdout", "encrypted_stderr"}

// encryptedKept: search results, code output and compaction hold ciphertext for the
// provider, which comes back byte for byte.
func encryptedKept(s *Trace, r *report) {
	s.eachPair("", wire.Opaque, func(l *link, _ pair, was, is *wire.Item) {
		issued, sent := encryptedIn(was.Node, nil), encryptedIn(is.Node, nil)
		r.addObserved(len(issued))
		for i, n := range issued {
			at := wire.Place{Event: was.Place.Event, Off: was.Place.Off, Path: was.Place.Path}
			switch {
			case i >= len(sent):
				r.addChange(l, is.Place, at, "", "%s is sent back without ciphertext that it was issued with", is.Type)
				return
			case n.Text() != sent[i].Text():
				r.addChange(l, wire.At(sent[i], is.Place.Path), at, "", "ciphertext in %s %s", is.Type,
					describeDifference(n.Text(), sent[i].Text()))
				return
			}
		}
	})
}

// encryptedIn lists the ciphertexts inside a node, in order.
func encryptedIn(n *tree.Node, list []*tree.Node) []*tree.Node {
	if n == nil {
		return list
	}
	for i, e := range n.Items() {
		if n.Is(tree.Object) && slices.Contains(encryptedNames, n.Names()[i]) && e.Is(tree.String) {
			list = append(list, e)
			continue
		}
		list = encryptedIn(e, list)
	}
	return list
}

func encryptedInAll(nodes []*tree.Node) (list []*tree.Node) {
	for _, n := range nodes {
		list = encryptedIn(n, list)
	}
	return list
}

// namespaceKept: a call of a tool in a namespace is found only by both names.
func namespaceKept(s *Trace, r *report) {
	s.eachPair(wires.Namespaces, wire.Call, func(l *link, _ pair, was, is *wire.Item) {
		namespace := was.Node.Text("namespace")
		if namespace == "" {
			return
		}
		r.addObserved(1)
		if got := is.Node.Text("namespace"); got != namespace {
			r.addChange(l, is.Place, was.Place, "",
				"tool call %s was issued in the namespace %q and is sent back in %q", is.Label(), namespace,
				cutText(got, 60))
		}
	})
}

// serverResultsKept: a call of the provider's own tool stands with its result. One that
// the provider had not answered yet is in flight (ANT-S1).
func serverResultsKept(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.wire.Has(wires.ServerTools) {
			return
		}
		answered, issued := serverResults(x.req.Items), x.issuedServerResults()
		for it := range wire.Each(x.req.Items) {
			if !isServerCall(it) || !issued[it.ItemID] {
				continue
			}
			r.addObserved(1)
			if !answered[it.ItemID] {
				r.addFinding(x, it.Place, "ANT-S1", "the result of %s %s, which came with it, is not sent back",
					it.Type, it.ItemID)
			}
		}
	})
}

// issuedServerResults collects the ids that results of the provider's tools answer in the
// replies that the request continues.
func (x *exchange) issuedServerResults() map[string]bool {
	ids := map[string]bool{}
	for _, l := range x.replays {
		maps.Copy(ids, serverResults(l.from.reply.Items))
	}
	return ids
}

// serverResults collects the ids that results of the provider's tools answer.
func serverResults(items []wire.Item) map[string]bool {
	ids := map[string]bool{}
	for i := range items {
		if it := &items[i]; it.What == wire.Opaque && it.Node.Get("tool_use_id").Is(tree.String) {
			ids[it.Node.Text("tool_use_id")] = true
		}
	}
	return ids
}

// isToolSearch reports whether an item is a search for tools or what it found.
func isToolSearch(it *wire.Item) bool {
	return it.Type == "tool_search_call" || it.Type == "tool_search_output" || it.Type == "tool_search_tool_result" ||
		it.Type == "server_tool_use" && strings.HasPrefix(it.Begun().Text("name"), "tool_search_tool")
}

// toolSearchKept: what loaded a tool stays in the history with the calls of that tool.
func toolSearchKept(s *Trace, r *report) {
	for _, l := range s.links {
		if l.to.isKeptByProvider() || !sendsCallBack(l) {
			continue
		}
		for i := range l.from.reply.Items {
			it := &l.from.reply.Items[i]
			if !isToolSearch(it) {
				continue
			}
			r.addObserved(1)
			if l.sentFor(i) == nil {
				r.addLostItem(l, i, "", "%s is not sent back, and a call of a tool that the search loaded is", it.Type)
			}
		}
	}
}

// sendsCallBack reports whether a call of the linked reply is sent back.
func sendsCallBack(l *link) bool {
	for _, p := range l.pairs {
		if l.reply(p.r).What == wire.Call {
			return true
		}
	}
	return false
}

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
	if from, ok := s.issued[originKey(is)]; ok && s.holds(originIsNamed) && is != "" && from.x.n < x.n &&
		originKey(is) != originKey(was) {
		d.sentence = fmt.Sprintf("is %s, in place of %s", from.describe(is), rules.Mask(was))
	}
	return d
}

func (i issue) describe(token string) string {
	return fmt.Sprintf("%s, issued with the %s that was %s", rules.Mask(token), i.it.What, emittedAt(i.x, i.it.Place))
}

// isOfOtherConversation reports whether the item is, as it was issued, one of another conversation.
func (s *Trace) isOfOtherConversation(x *exchange, it *wire.Item) bool {
	from, ok := s.issued[originKey(it.Token)]
	return ok && it.Token != "" && from.x.Provider == x.Provider && from.x.conversation >= 0 &&
		!x.ownConversations()[from.x.conversation] &&
		from.it.What == it.What && from.it.Text == it.Text && slices.Equal(from.it.Summary, it.Summary)
}

// inventedTokens adds a finding for each token that stands among what is sent back of
// a reply and that the reply did not issue.
func (s *Trace) inventedTokens(r *report, of wires.Habit, rule, ofType string, isCarrier func(it *wire.Item) bool) {
	for _, l := range s.links {
		for _, q := range l.extra {
			it := l.sent(q)
			if !l.to.wire.Has(of) || it.Token == "" || !isCarrier(it) || !l.sharesMessage(it) {
				continue
			}
			r.addObserved(1)
			switch from, ok := s.issued[originKey(it.Token)]; {
			case !ok:
				r.addFinding(l.to, it.Place, rule, "%s block %s was not emitted by the reply it stands in (exchange %d)",
					it.What, rules.Mask(it.Token), l.from.Index)
			case from.x == l.from && from.it.What != it.What:
				r.addChange(l, it.Place, from.it.Place, ofType, "%s block %s came back as a %s block", from.it.What,
					rules.Mask(it.Token), it.What)
			default:
				r.addFinding(l.to, it.Place, rule, "%s stands among what exchange %d emitted and carries %s", it.What,
					l.from.Index, from.describe(it.Token))
			}
		}
	}
}

// sharesMessage reports whether the item stands in one message with what was sent
// back of the reply, or between two items of it: messages before it may be history
// of another recording.
func (l *link) sharesMessage(it *wire.Item) bool {
	return slices.ContainsFunc(l.pairs, func(p pair) bool {
		return l.sent(p.q).Msg == it.Msg ||
			l.to.wire.Has(wires.ItemList) && l.to.runOf(p.q) == l.to.runOf(l.ordinalOf(it))
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
			r.addFinding(x, it.Place, x.wire.RuleFor(wires.ForeignToken),
				"%s carries the token %s, which %s issued in exchange %d", it.Type, rules.Mask(it.Token), from.Provider,
				from.Index)
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
		f := r.addFinding(c.x, c.it.Place, c.x.wire.RuleFor(wires.ForeignToken),
			"%s carries the token %s of model %s to model %s",
			c.it.Type, rules.Mask(c.it.Token), c.issuer, strings.Join(receivers[c.issuer], " and "))
		f.Form += c.issuer
	}
}
