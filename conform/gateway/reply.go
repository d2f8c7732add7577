package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// compareReply compares a whole reply: what the upstream said with what the client reads.
func (c *comparer) compareReply(u *received) {
	was, is := u.reply, c.answer.Reply
	if is.End != wire.Complete {
		c.Breach("GW-28", breach{}, "the upstream's reply is whole, and the client got %s",
			c.outcomeText())
		return
	}
	if c.direct != nil && c.direct.IsOK() && c.direct.Reply.Form != is.Form {
		c.Breach("GW-29", breach{Consequence: specs.Wrong},
			"the client got %s, and asked for %s", formText(is), formText(c.direct.Reply))
	}
	c.compareReplyHeaders(u)
	c.compareItems(itemsSaid(was), itemsSaid(is))
	if is.Model == "" || is.Model == "unknown" {
		c.Breach("GW-23", breach{Path: "model"}, "the reply names the model %q", is.Model)
	} else {
		c.See("GW-23", "GW-21")
		if asked := c.answer.ReadRequest().Model; is.Model != was.Model &&
			(is.Model != asked || c.isOtherModel(asked, was.Model)) {
			c.Breach("GW-21", breach{Path: "model",
				Compare: compareTexts(was.Model, is.Model)}, "%s answered upstream, and the reply names %s",
				was.Model, is.Model)
		}
	}
	c.compareUsage(was, is)
	if c.Wire == c.UpstreamWire {
		c.compareEvents(was, is)
	} else if isAnswer(c.UpstreamWire, was.Stop) != isAnswer(c.Wire, is.Stop) && !refuses(was) && !refuses(is) {
		c.Breach("GW-29", breach{Path: "stop", Consequence: specs.Wrong},
			"the upstream stopped with %q, and the client reads %q", was.Stop, is.Stop)
	}
}

// compareUsage holds that the client reads what the upstream counted, in the counters of the client's wire.
func (c *comparer) compareUsage(was, is *wire.Reply) {
	c.See("GW-24")
	said, read := countsOf(c.UpstreamWire, was), countsOf(c.Wire, is)
	at := breach{Path: "usage"}
	switch {
	case said.Input >= 0 && read.Input != said.Input:
		c.Breach("GW-24", at, "the upstream counted %s tokens of input, and the client reads %s", inputText(said),
			inputText(read))
	case max(read.CacheRead, 0) != max(said.CacheRead, 0):
		c.Breach("GW-24", breach{Path: "usage", Consequence: specs.Degraded},
			"the upstream read %d of %s tokens of input from its cache, and the client reads %s", max(said.CacheRead, 0),
			countText(said.Input), countText(read.CacheRead))
	}
	if said.Output >= 0 && read.Output != said.Output {
		c.Breach("GW-24", at, "the upstream counted %d tokens of output, and the client reads %s", said.Output,
			countText(read.Output))
	}
	if c.Wire == c.UpstreamWire {
		return
	}
	if len(is.Events) > 0 {
		start := wire.Usage{Input: -1}
		if start.Add(c.Wire.Name, is.Events[0].JSON); start.Input == 0 && said.Input > 0 && read.Input > 0 {
			c.Breach("GW-24", at, "the first event says 0 tokens of input; the upstream counted %d", said.Input)
		}
	}
}

// countsOf are the counters of a reply, -1 where they are not said.
func countsOf(w *wires.Wire, r *wire.Reply) wire.Usage {
	if u := wire.UsageOf(w.Name, r); u != nil {
		return *u
	}
	return wire.Usage{Input: -1, CacheRead: -1, CacheWrite: -1, Output: -1, Reasoning: -1}
}

// isOtherModel reports whether another model than asked answered. Only two names of known models on one wire say that:
// any other name may be an alias, and behind another wire every model is another one.
func (c *comparer) isOtherModel(asked, answered string) bool {
	return c.Wire == c.UpstreamWire && specs.ParseModel(asked).Family != "" &&
		specs.ParseModel(answered).Family != "" &&
		!specs.IsServedAs(asked, answered)
}

func formText(r *wire.Reply) string {
	if r.Form == wire.Document {
		return "a reply in one piece"
	}
	return "a stream"
}

// isAnswer reports whether a stop says that the reply is an answer, and not cut off, refused or filtered.
func isAnswer(w *wires.Wire, stop string) bool { return !slices.Contains(w.Stops.Unanswered, stop) }

// refuses reports whether a reply refuses in a part of its own, whatever it stops with.
func refuses(r *wire.Reply) bool {
	isRefusal := func(n *tree.Node) bool { return n.Text("type") == "refusal" }
	return slices.ContainsFunc(r.Items, func(it wire.Item) bool {
		return it.Type == "refusal" || slices.ContainsFunc(it.Node.List("content"), isRefusal)
	})
}

// itemsSaid are the items of a reply that a client acts on. Texts that follow one another are one, as are
// thoughts; what is empty and carries nothing is left out.
func itemsSaid(r *wire.Reply) (list []wire.Item) {
	for _, it := range r.Items {
		isProse := it.What == wire.Text || it.What == wire.Thinking
		if isProse && it.Text == "" && !it.HasToken {
			continue
		}
		if n := len(list) - 1; n >= 0 && list[n].What == it.What && isProse && !list[n].HasToken {
			list[n].Text += it.Text
			list[n].Token, list[n].HasToken = it.Token, it.HasToken
			continue
		}
		list = append(list, it)
	}
	return list
}

// compareItems compares what both sides read, kind by kind, so that one loss is one finding.
func (c *comparer) compareItems(was, is []wire.Item) {
	c.See("GW-10", "GW-13", "GW-18")
	isTold := false // a kind whose text came or went changes the order, too
	for _, kind := range []wire.What{wire.Text, wire.Thinking} {
		before, after := textOf(was, kind), textOf(is, kind)
		if before == after || kind == wire.Thinking && c.Wire != c.UpstreamWire && after == "" {
			continue
		}
		isTold = true
		at := breach{Path: kind.String(), Compare: compareTexts(before, after),
			Consequence: specs.Wrong}
		if strings.ContainsRune(after, '\uFFFD') && !strings.ContainsRune(before, '\uFFFD') {
			c.Breach("GW-18", at, "the %s has replacement characters that the upstream did not send", kind)
		} else {
			c.Breach("GW-29", at, "the %s that the client reads is not what the upstream sent: %d bytes became %d",
				kind, len(before), len(after))
		}
	}
	c.compareCalls(ofKind(was, wire.Call), ofKind(is, wire.Call))
	if c.Wire == c.UpstreamWire {
		c.compareTokens(was, is)
		return
	}
	before, after := ofKind(was, wire.Thinking), ofKind(is, wire.Thinking)
	if len(before) > 0 && len(after) == 0 {
		c.Breach("GW-10", breach{Consequence: specs.Degraded},
			"the model's thinking does not reach the client")
	}
	if len(ofKind(is, wire.Opaque)) == 0 { // a block that only one wire has cannot cross
		was = slices.DeleteFunc(was, func(it wire.Item) bool { return it.What == wire.Opaque })
	}
	if kindOrder(was) != kindOrder(is) && len(before) == len(after) && !isTold {
		c.Breach("GW-29", breach{Consequence: specs.Wrong},
			"the upstream said %s, and the client reads %s", kindOrder(was), kindOrder(is))
	}
}

func ofKind(list []wire.Item, kind wire.What) (found []wire.Item) {
	for _, it := range list {
		if it.What == kind {
			found = append(found, it)
		}
	}
	return found
}

// kindOrder names the kinds of items in a row.
func kindOrder(list []wire.Item) string {
	var kinds []string
	for _, it := range list {
		kind := it.What.String()
		if n := len(kinds); n == 0 || kinds[n-1] != kind || it.What == wire.Call {
			kinds = append(kinds, kind)
		}
	}
	return cmp.Or(strings.Join(kinds, ", "), "nothing")
}

func textOf(list []wire.Item, kind wire.What) string {
	var b strings.Builder
	for _, it := range ofKind(list, kind) {
		b.WriteString(it.Text)
	}
	return b.String()
}

func (c *comparer) compareCalls(was, is []wire.Item) {
	if len(was) != len(is) {
		c.Breach("GW-30", breach{Path: "calls"},
			"the upstream called %d tools, and the client reads %d calls", len(was), len(is))
		return
	}
	for i := range was {
		path := fmt.Sprintf("calls[%d]", i)
		if was[i].Name != is[i].Name {
			c.Breach("GW-26", breach{Path: path + ".name", Compare: compareTexts(was[i].Name,
				is[i].Name)}, "the upstream called %q, and the client reads %q", was[i].Name, is[i].Name)
		}
		one, other, isEqual := diffJSON(was[i].Args, is[i].Args)
		_, err := tree.Parse(was[i].Args) // some wires can only carry arguments that are valid JSON
		isSayable := was[i].ArgsKnown && is[i].ArgsKnown && (c.Wire == c.UpstreamWire || err == nil)
		if isSayable && !isEqual {
			c.Breach("GW-29", breach{Path: path + ".arguments",
				Compare: compareTexts(one, other), Consequence: specs.Wrong},
				"the arguments that the client reads are not what the upstream sent")
		}
		switch {
		case is[i].ID == "" && was[i].ID != "":
			c.Breach("GW-30", breach{Path: path + ".id"},
				"a call reaches the client without an id")
		case c.Wire == c.UpstreamWire && was[i].ID != is[i].ID:
			c.Breach("GW-13", breach{Path: path + ".id",
				Compare: compareTexts(was[i].ID, is[i].ID)}, "the id of a call was changed on its way to the client")
		}
	}
}

// compareTokens compares what only the provider understands, on one wire.
func (c *comparer) compareTokens(was, is []wire.Item) {
	tokens := func(list []wire.Item) (found []string) {
		for _, it := range list {
			if it.HasToken && it.Token != "" {
				found = append(found, it.Token)
			}
		}
		return found
	}
	before, after := tokens(was), tokens(is)
	for i, token := range before {
		path := fmt.Sprintf("tokens[%d]", i)
		switch {
		case i >= len(after):
			c.Breach("GW-10", breach{Path: path},
				"%d of %d tokens that the provider issued do not reach the client", len(before)-len(after), len(before))
			return
		case token != after[i]:
			c.Breach("GW-10", breach{Path: path, Compare: compareTokens(token, after[i])},
				"a token was changed on its way to the client")
		}
	}
}

// inputText says how many tokens of input were counted, and how many of them came from the cache.
func inputText(u wire.Usage) string {
	if u.Input >= 0 && u.CacheRead > 0 {
		return fmt.Sprintf("%d (%d from the cache)", u.Input, u.CacheRead)
	}
	return countText(u.Input)
}

func countText(n int) string {
	if n < 0 {
		return "no count"
	}
	return fmt.Sprint(n)
}

// compareEvents compares streams of one wire event by event, where what they say is equal. The id of
// the reply may be the gateway's own.
func (c *comparer) compareEvents(was, is *wire.Reply) {
	c.See("GW-29")
	if was.Form != is.Form {
		c.Breach("GW-29", breach{Consequence: specs.Wrong},
			"the upstream and the client got replies of different forms: a stream became a document, or a document a stream")
		return
	}
	mask := func(r *wire.Reply, text string) string {
		if r.ID != "" {
			text = strings.ReplaceAll(text, r.ID, "ID")
		}
		if r.Model != "" {
			text = strings.ReplaceAll(text, r.Model, "MODEL")
		}
		return text
	}
	if was.Form == wire.Document {
		if d := diffBodies(c.Wire, was.Doc, is.Doc); len(d) > 0 &&
			!(len(d) == 1 && (d[0].path == "id" || d[0].path == "model")) {
			one, other := d[0].bothTexts()
			c.Breach("GW-29", breach{Path: d[0].path, Compare: compareTexts(one, other)},
				"the member %s of the reply was %s on its way to the client", d[0].path, d[0].changeText())
		}
		return
	}
	if sent := countPings(was); sent > 0 && countPings(is) == 0 {
		c.Breach("GW-17", breach{Path: "ping", Consequence: specs.Degraded},
			"the upstream sent %d pings, and none reaches the client", sent)
	}
	before, after := eventsOf(was, mask), eventsOf(is, mask)
	for i := range before {
		switch {
		case i >= len(after):
			c.Breach("GW-29", breach{Path: fmt.Sprintf("events[%d]", i)},
				"the upstream sent %d events, and the client got %d", len(before), len(after))
			return
		case before[i] != after[i]:
			c.Breach("GW-29", breach{Path: fmt.Sprintf("events[%d]", i),
				Compare: compareTexts(before[i], after[i])}, "an event is not what the upstream sent")
			return
		}
	}
	if len(after) > len(before) {
		c.Breach("GW-29", breach{}, "the upstream sent %d events, and the client got %d",
			len(before), len(after))
	}
}

func isPing(e *wire.StreamEvent) bool { return e.Type() == "ping" || e.Name == "ping" }

func countPings(r *wire.Reply) (n int) {
	for i := range r.Events {
		if isPing(&r.Events[i]) {
			n++
		}
	}
	return n
}

// eventsOf are the events but pings, in one spelling.
func eventsOf(r *wire.Reply, mask func(*wire.Reply, string) string) (list []string) {
	for i := range r.Events {
		if e := &r.Events[i]; !isPing(e) && e.HasData {
			list = append(list, e.Name+" "+mask(r, string(tree.Canonical{}.Append(nil, e.JSON))))
		}
	}
	return list
}
